"""The figure of slopes by block."""

from functools import cache

import numpy as np
import polars as pl

from drawings import LONG, line, named, require_axis_labels, require_house_style, require_refusal, saved, shown, texts
from homogenization.figures.susceptibility import draw
from homogenization.statistics.interventions import SLOPE_MEANS_SCHEMA

BLOCKS = {"alpha": 30, "beta": 4}
SLOPES = {"first": 0.2, "removed": -0.1}
METRICS = (("cosine_anisotropy", "all_tokens"), ("cosine_anisotropy", "after_quarter"), ("stable_rank", "centred"))


def slope(pattern, block):
    return SLOPES[pattern] / block


@cache
def table(models=tuple(BLOCKS)):
    rows = [
        {
            **{"model": model, "variant": "original", "block": block, "pattern": pattern, "against": against},
            **{"layer": n_blocks, "view": view, "metric": metric, "n_reviews": 9},
            "estimate": slope(pattern, block) + (against != "untouched"),
            **{"ci_low": slope(pattern, block) - 0.05, "ci_high": slope(pattern, block) + 0.05},
        }
        for model, n_blocks in zip(models, BLOCKS.values(), strict=False)
        for pattern in SLOPES
        for against in ("untouched", "removed")
        for metric, view in METRICS
        for block in (*range(1, n_blocks + 1), None)
        if block
    ]
    whole = [rows[0] | {"block": None, "estimate": 99.0}]
    return pl.DataFrame([*rows, *whole], schema=SLOPE_MEANS_SCHEMA)


def figure_of(slopes=None, **fields):
    titles = {"cosine_anisotropy": "Cosine anisotropy"}
    return draw({"slopes": table() if slopes is None else slopes}, shown(**{"metric_titles": titles} | fields))


@cache
def drawn():
    return figure_of()


def test_it_keeps_the_house_style():
    require_house_style(drawn(), "n = 9 reviews")
    require_axis_labels(drawn())
    assert "d Cosine anisotropy / dλ" in texts(drawn())


def test_lines_are_the_slopes_of_blocks_from_the_untouched_run():
    assert [axes.get_title() for axes in drawn().axes] == ["Alpha (trained)", "Beta (random)", "", ""]
    for axes, n_blocks in zip(drawn().axes[:2], BLOCKS.values(), strict=True):
        blocks = np.arange(1, n_blocks + 1)
        for pattern in SLOPES:
            np.testing.assert_array_equal(line(axes, pattern).get_xdata(), blocks)
            np.testing.assert_allclose(line(axes, pattern).get_ydata(), [slope(pattern, block) for block in blocks])
        vertices = axes.collections[0].get_paths()[0].vertices
        assert vertices[:, 1].max() == 0.25
        assert len(axes.collections) == 1


def test_a_model_without_slopes_is_left_out():
    only = figure_of(table(models=("alpha",)))
    assert [axes.get_title() for axes in only.axes] == ["Alpha (trained)", ""]


def test_long_names_have_room():
    require_house_style(figure_of(table(models=(LONG,)), models=named([LONG])), "n = 9 reviews")


def test_it_refuses_a_table_of_other_models():
    require_refusal(draw, {"slopes": table()}, shown(models=named(["gamma"])), "no rows for models gamma")


def test_two_drawings_are_the_same_file(tmp_path):
    assert saved(figure_of(), tmp_path) == saved(figure_of(), tmp_path)
