"""The figure of the cosines between a review's tokens."""

from functools import cache

import numpy as np
import polars as pl

from drawings import (
    BLOCKS,
    VARIANTS,
    N,
    named,
    require_axis_labels,
    require_house_style,
    require_refusal,
    shown,
)
from homogenization.figures.cosine_histogram import draw


def cosine_table(blocks=BLOCKS):
    edges = np.linspace(-1, 1, 41)
    rows = []
    for model, n_blocks in blocks.items():
        for variant, _ in VARIANTS:
            for point, layer in [("residual_stream", i) for i in range(n_blocks + 1)] + [("final_norm", n_blocks)]:
                density = np.exp(-(((edges[:-1] + edges[1:]) / 2 - 0.1 * layer) ** 2) * 20)
                density /= density.sum() * 0.05
                for left, right, value in zip(edges[:-1], edges[1:], density, strict=True):
                    rows.append((model, variant, point, layer, layer / n_blocks, "all_tokens", left, right, N, value))
    columns = ["model", "variant", "point", "layer", "depth", "tokens", "bin_left", "bin_right", "n_reviews", "density"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def tables(cosines):
    return {"cosines": cosines}


@cache
def drawn():
    return draw(tables(cosine_table()), shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())


def test_ridges_rise_with_depth_and_keep_the_form_of_the_histogram():
    axes = drawn().axes[0]
    ridges = [curve.get_ydata() for curve in axes.lines if curve.get_label() == "original"]
    assert len(ridges) == 8  # 7 layers and the final norm
    histogram = cosine_table().filter(model="alpha", variant="original", point="residual_stream", layer=3)["density"]
    np.testing.assert_allclose((ridges[3] - 3) / (ridges[3] - 3).max(), histogram / histogram.max(), atol=1e-12)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "0 (0.00)"
    assert "final norm" in labels[-1].replace("\n", " ")


def test_ridges_of_a_deep_model_are_a_selection_with_both_ends():
    figure = draw(tables(cosine_table({"deep": 32})), shown(models=named(["deep"])))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == 10
    assert labels[0].startswith("0 ")
    assert labels[-2].startswith("32 ")


def test_pairs_with_the_first_token_have_no_curve():
    first = cosine_table().with_columns(tokens=pl.lit("first_token"), density=pl.lit(1.0))
    figure = draw(tables(pl.concat([cosine_table(), first])), shown())
    for axes, other in zip(figure.axes, drawn().axes, strict=True):
        for curve, wanted in zip(axes.lines, other.lines, strict=True):
            np.testing.assert_array_equal(curve.get_ydata(), wanted.get_ydata())


def test_an_empty_table_is_refused():
    require_refusal(draw, tables(cosine_table().clear()), shown(), "cosines between tokens")
