"""The figure of what happens at peaks and troughs."""

from functools import cache

import numpy as np
import polars as pl

from drawings import (
    BLOCKS,
    N,
    line,
    require_axis_labels,
    require_house_style,
    require_refusal,
    saved,
    shown,
    summary_table,
    texts,
)
from homogenization.figures.extrema import draw
from homogenization.statistics.blocks import BLOCKS_SCHEMA
from homogenization.statistics.extrema import EXTREMA_SCHEMA

MEV = "max_explainable_variance"
TITLES = {MEV: "Maximum explainable variance"}


@cache
def tables():
    """Of two models; blocks are taken apart in the first alone, which has a settled peak and a trough that is not."""
    found = {"view": "raw", "metric": MEV, "model": "alpha", "variant": "original", "number": 1}
    extrema = [
        found | {"kind": "peak", "layer": 2, "depth": 1 / 3, "depth_low": 1 / 6, "depth_high": 0.5, "settled": True}
        | {"height": 2.4, "height_low": 2.3, "height_high": 2.6},
        found | {"kind": "trough", "layer": 4, "depth": 2 / 3, "depth_low": 0.6, "depth_high": 0.7, "settled": False}
        | {"height": 2.7, "height_low": 2.6, "height_high": 2.8},
    ]  # fmt: skip
    rows = [
        {"model": model, "variant": "original", "layer": layer, "depth": layer / BLOCKS[model], "n_reviews": N, **told}
        for model, told in (
            (
                "alpha",
                {"quantity": "feed_forward_addition", "metric": MEV, "view": "raw", "in_stream": True, "mean": 0.3},
            ),
            ("alpha", {"quantity": "feed_forward", "metric": MEV, "view": "raw", "in_stream": False, "mean": 9.0}),
            ("alpha", {"quantity": "first_token_energy_share", "mean": 0.5}),
            ("beta", {"quantity": "first_token_energy_share", "mean": 0.2}),
        )
        for layer in range(1, BLOCKS[model] + 1)
    ]
    return {
        "summary": summary_table(MEV),
        "extrema": pl.DataFrame(extrema, schema=EXTREMA_SCHEMA),
        "extrema_blocks": pl.DataFrame(rows, schema=BLOCKS_SCHEMA),
    }


@cache
def drawn():
    return draw(tables(), shown(metric_titles=TITLES))


def panel(row, column):
    return drawn().axes[row * 2 + column]


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())
    assert "change of maximum explainable variance" in texts(drawn())


def test_a_curve_is_the_mean_of_the_originals_with_its_extrema():
    axes = panel(0, 0)
    rows = tables()["summary"].filter(model="alpha", variant="original", view="raw", point="residual_stream")
    np.testing.assert_allclose(line(axes, "curve").get_ydata(), rows.sort("depth")["mean"])
    for kind, place, settled in (("peak", (1 / 3, 2.4), True), ("trough", (2 / 3, 2.7), False)):
        marker = line(axes, kind)
        np.testing.assert_allclose(marker.get_xydata(), [place])
        assert (marker.get_markerfacecolor() != "white") == settled
    spans = [segment for lines in axes.collections[1:] for segment in lines.get_segments()]
    np.testing.assert_allclose(spans[0], [[1 / 6, 2.4], [0.5, 2.4]])
    np.testing.assert_allclose(spans[1], [[1 / 3, 2.3], [1 / 3, 2.6]])
    assert not [curve for curve in panel(0, 1).lines if curve.get_label() == "peak"]


def test_what_stands_in_the_stream_is_drawn_below_and_settled_extrema_are_marked_there():
    axes = panel(1, 0)
    np.testing.assert_allclose(line(axes, "feed-forward network added").get_ydata(), 0.3)
    assert max(np.max(curve.get_ydata()) for curve in axes.lines if curve.get_label() != "peak") < 1
    assert {curve.get_label() for curve in axes.lines} == {"feed-forward network added", "zero", "peak"}
    assert "not computed" in [text.get_text() for text in panel(1, 1).texts]
    np.testing.assert_allclose(line(panel(2, 1), "first token's share of the energy").get_ydata(), 0.2)


def test_a_study_without_mev_and_cosine_shows_another_metric():
    others = tables() | {
        "summary": summary_table("resultant_length", views=("all_tokens",)),
        "extrema": tables()["extrema"].clear(),
        "extrema_blocks": tables()["extrema_blocks"].clear(),
    }
    figure = draw(others, shown(metric_titles={}))
    require_house_style(figure, f"n = {N} reviews")
    assert len(figure.axes) == 2
    assert "resultant_length" in texts(figure)


def test_it_refuses_what_the_table_lacks():
    require_refusal(draw, tables(), shown(models=[["gamma", "Gamma"]]), "no rows for models gamma")


def test_two_drawings_are_the_same_file(tmp_path):
    chosen = shown(metric_titles=TITLES)
    assert saved(draw(tables(), chosen), tmp_path) == saved(draw(tables(), chosen), tmp_path)
