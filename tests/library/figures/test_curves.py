"""Curves over the depth of a model."""

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from drawings import VARIANTS, line
from homogenization.figures.curves import (
    draw_depth_curves,
    draw_final_norm,
    final_norm_handle,
    set_depth_axis,
    spans_decades,
)
from homogenization.figures.style import variant_styles

STYLES = variant_styles(VARIANTS)


def curve_table(variant="front", layers=5):
    depth = np.linspace(1, 0, layers)  # tables need not be in order
    return pl.DataFrame({"variant": variant, "depth": depth, "mean": 2 * depth, "ci_low": depth, "ci_high": 3 * depth})


def test_a_curve_follows_the_depth_with_its_band_and_the_style_of_its_variant():
    axes = Figure().add_subplot()
    draw_depth_curves(axes, curve_table(), STYLES)
    (curve,) = axes.lines
    np.testing.assert_allclose(curve.get_xydata(), [[d, 2 * d] for d in np.linspace(0, 1, 5)])
    assert (curve.get_label(), curve.get_color(), curve.get_marker()) == ("front", STYLES["front"].colour, "^")
    band = axes.collections[0].get_paths()[0].vertices
    assert {1.0, 3.0} <= set(band[band[:, 0] == 1][:, 1])


def test_a_variant_without_values_has_no_curve_and_a_plain_one_no_markers():
    axes = Figure().add_subplot()
    empty = curve_table("end").with_columns(mean=pl.lit(float("nan")))
    draw_depth_curves(axes, pl.concat([curve_table(), empty]), STYLES, plain=True)
    assert [curve.get_label() for curve in axes.lines] == ["front"]
    assert axes.lines[0].get_marker() in ("", "None")


@pytest.mark.parametrize(("layers", "at_most"), [(5, 5), (80, 13)])
def test_markers_stay_apart_where_layers_are_many(layers, at_most):
    axes = Figure().add_subplot()
    draw_depth_curves(axes, curve_table(layers=layers), STYLES)
    assert layers / axes.lines[0].get_markevery() <= at_most


def test_the_final_norm_stands_right_of_the_depth_one_place_for_each_variant():
    axes = Figure().add_subplot()
    table = pl.concat([curve_table("front", 1), curve_table("end", 1)])
    assert draw_final_norm(axes, table, STYLES)
    places = [line(axes, f"{name} after final norm").get_xdata()[0] for name in ("front", "end")]
    assert 1 < places[0] < places[1]
    set_depth_axis(axes, len(STYLES))
    assert places[1] < axes.get_xlim()[1]
    assert final_norm_handle().get_markerfacecolor() == "white"


def test_without_final_norm_nothing_is_drawn_and_the_axis_ends_at_one():
    axes = Figure().add_subplot()
    assert not draw_final_norm(axes, curve_table().clear(), STYLES)
    set_depth_axis(axes, 0)
    assert axes.get_xlim()[1] < 1.05
    assert not axes.lines


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([1.0, 100.0], True), ([1.0, 99.0], False), ([0.001, 0.9], False), ([0.0, 1000.0], False), ([np.nan], False)],
)
def test_decades_are_spanned_by_positive_values_beyond_one(values, wanted):
    assert spans_decades(pl.DataFrame({"mean": values})) == wanted
