"""The figure of one metric's differences between variants."""

import numpy as np
import polars as pl
import pytest

from drawings import VARIANTS, line
from homogenization.figures.style import variant_styles
from library.figures.example_tables import DEEPER, YARDSTICK, contrasts_table, difference
from library.figures.examples import drawn, figure_of


def test_lines_and_bands_are_shares_of_what_depth_does():
    for axes, (_, n_blocks) in zip(drawn("contrast").axes[:2], DEEPER.items(), strict=True):
        depth = np.arange(n_blocks + 1) / n_blocks
        wanted = difference("front", "original", depth) / YARDSTICK * 100
        np.testing.assert_allclose(line(axes, "front").get_xdata(), depth)
        np.testing.assert_allclose(line(axes, "front").get_ydata(), wanted)
        heights = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(wanted.min() - 4)
        assert heights.max() == pytest.approx(wanted.max() + 6)
        assert {*line(axes, "zero").get_ydata()} == {0}


def test_all_panels_have_one_scale_and_one_margin():
    wide = pl.when(pl.col("model") == "beta").then(3.0).otherwise(1.0)
    figure = figure_of("contrast", contrasts_table().with_columns(pl.col("mean") * wide))
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    for axes in figure.axes:
        band = next(patch for patch in axes.patches if patch.get_label() == "margin")
        assert (band.get_y(), band.get_height()) == pytest.approx((-2, 4))


def test_differences_are_shares_of_the_yardstick_and_without_one_there_is_no_margin():
    of_beta = pl.when(pl.col("model") == "beta")
    figure = figure_of("contrast", contrasts_table().with_columns(yardstick=of_beta.then(1.0).otherwise("yardstick")))
    for axes, yardstick in zip(figure.axes[:2], (YARDSTICK, 1.0), strict=True):
        depth = line(axes, "front").get_xdata()
        wanted = difference("front", "original", depth) / yardstick * 100
        np.testing.assert_allclose(line(axes, "front").get_ydata(), wanted)
    still = contrasts_table().with_columns(yardstick=of_beta.then(float("nan")).otherwise("yardstick"))
    margins = [[one.get_label() for one in axes.patches].count("margin") for axes in figure_of("contrast", still).axes]
    assert margins[:2] == [1, 0]


def test_markers_are_filled_where_significant_and_every_layer_has_one():
    axes = drawn("contrast").axes[0]
    colour = variant_styles(VARIANTS)["front"].colour
    filled, hollow = line(axes, "front filled"), line(axes, "front open")
    np.testing.assert_allclose(filled.get_xdata(), np.array([1, 3, 5, 7]) / 8)
    np.testing.assert_allclose(hollow.get_xdata(), np.array([0, 2, 4, 6, 8]) / 8)
    assert filled.get_markerfacecolor() == colour
    assert (hollow.get_markerfacecolor(), hollow.get_markeredgecolor()) == ("white", colour)


def test_after_the_final_norm_it_is_filled_where_its_own_test_is_significant():
    of_end = pl.when(pl.col("point") == "final_norm", pl.col("variant") == "end")
    verdict = of_end.then(pl.lit("more alike")).otherwise("verdict")
    axes = figure_of("contrast", contrasts_table().with_columns(verdict=verdict)).axes[0]
    assert line(axes, "end after final norm").get_markerfacecolor() == variant_styles(VARIANTS)["end"].colour
    assert line(axes, "front after final norm").get_markerfacecolor() == "white"


def test_missing_values_are_named_and_rounding_errors_are_flat():
    gone = pl.when(pl.col("model") == "beta").then(float("nan")).otherwise(1e-15)
    table = contrasts_table().with_columns(gone.alias(name) for name in ("mean", "ci_low", "ci_high"))
    figure = figure_of("contrast", table.with_columns(verdict=pl.lit("undecided")))
    assert "no values" in [text.get_text() for text in figure.axes[1].texts]
    low, high = figure.axes[0].get_ylim()
    assert high - low > 0.01
    assert line(figure.axes[0], "front filled").get_xdata().size == 0
