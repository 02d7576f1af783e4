"""The grammar of figures: panels, lines, axes, and what stands around them."""

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from drawings import LONG, MODELS, VARIANTS, line, named, require_room
from homogenization.figures.grammar import (
    Panels,
    draw_final_norm,
    draw_lines,
    handle,
    handles_of,
    range_with_zero,
    set_depth_axis,
    tint_alike,
    views_present,
)
from homogenization.figures.shown import spans_decades
from homogenization.figures.style import LineStyle, variant_styles

STYLES = variant_styles(VARIANTS)
ROWS = ("row", [("above", "Above"), ("below", "Below")])


def curve_table(variant="front", layers=5, **columns):
    depth = np.linspace(1, 0, layers)  # tables need not be in order
    values = {"depth": depth, "mean": 2 * depth, "ci_low": depth, "ci_high": 3 * depth}
    return pl.DataFrame({"variant": variant, **values, **columns})


@pytest.mark.parametrize(("columns", "blocks"), [(1, [1]), (4, [4]), (5, [3, 2]), (9, [3, 3, 3])])
def test_columns_that_do_not_fit_go_on_below_and_long_names_have_room(columns, blocks):
    panels = Panels(("model", named(f"{LONG}-{index}" for index in range(columns))), ROWS)
    places = {name: axes.get_subplotspec() for name, axes in panels.axes.items()}
    widths = [0] * len(blocks)
    for (row, _), place in places.items():
        assert place.rowspan.start % 2 == (row == "below")
        widths[place.rowspan.start // 2] += row == "above"
    assert widths == blocks
    panels.label("Depth", "Some quantity with a long name")
    require_room(panels.finish("A title " * 30, "A note " * 90, [handle(LONG), handle(LONG), handle("short")]))


def test_labels_stand_at_the_outer_panels_alone():
    panels = Panels(("model", MODELS), ROWS, share_y=True)
    panels.fit(curve_table(row="below", layers=2).with_columns(mean=pl.lit(1.0)), logarithmic=["below"])
    panels.label("Depth", {"above": "First", "below": "Second"})
    told = {place: (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) for place, axes in panels.axes.items()}
    assert told == {
        ("above", "alpha"): ("", "First", "Alpha (trained)"),
        ("above", "beta"): ("", "", "Beta (random)"),
        ("below", "alpha"): ("Depth", "Second (log scale)", ""),
        ("below", "beta"): ("Depth", "", ""),
    }
    assert "Above" in [text.get_text() for text in panels.axes["above", "beta"].texts]


def test_a_panel_has_its_own_rows_of_each_layer():
    panels = Panels(("model", MODELS), ROWS)
    panels.lines(curve_table(model="alpha", row="above"), STYLES)
    panels.lines(curve_table("end", model="beta"), STYLES)  # in every row
    drawn = {place: [curve.get_label() for curve in axes.lines] for place, axes in panels.axes.items()}
    assert list(drawn.values()) == [["front"], ["end"], [], ["end"]]


def test_a_figure_grows_by_its_title_legend_and_note():
    heights = []
    for note, handles in (("short", []), ("long " * 200, handles_of(VARIANTS, {"end": STYLES["end"]}))):
        panels = Panels(("model", MODELS))
        panels_alone = panels.figure.get_figheight()
        figure = panels.finish("Title", note, handles)
        heights.append(figure.get_figheight() - panels_alone)
    assert 0 < heights[0] < heights[1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["End"]


def test_a_line_is_x_y_its_band_and_the_style_of_its_hue():
    axes = Figure().add_subplot()
    draw_lines(axes, curve_table(), STYLES)
    (curve,) = axes.lines
    np.testing.assert_allclose(curve.get_xydata(), [[d, 2 * d] for d in np.linspace(0, 1, 5)])
    assert (curve.get_label(), curve.get_color(), curve.get_marker()) == ("front", STYLES["front"].colour, "^")
    band = axes.collections[0].get_paths()[0].vertices
    assert {1.0, 3.0} <= set(band[band[:, 0] == 1][:, 1])


def test_a_line_without_values_is_not_drawn_and_a_control_is_thinner_and_has_no_band():
    axes = Figure().add_subplot()
    empty = curve_table("end").with_columns(mean=pl.lit(float("nan")))
    styles = {"end": STYLES["end"], "front": LineStyle("black", "-", "x", control=True)}
    thick = Figure().add_subplot()
    draw_lines(thick, curve_table(), STYLES)
    draw_lines(axes, pl.concat([curve_table(), empty]), styles)
    assert [curve.get_label() for curve in axes.lines] == ["front"]
    assert axes.lines[0].get_linewidth() < line(thick, "front").get_linewidth()
    assert not axes.collections
    draw_lines(axes, curve_table(), STYLES, y=("mean",), label="alone", marker="")
    assert (line(axes, "alone").get_marker(), len(axes.collections)) == ("", 0)


@pytest.mark.parametrize(("layers", "at_most"), [(5, 5), (80, 13)])
def test_markers_stay_apart_where_layers_are_many(layers, at_most):
    axes = Figure().add_subplot()
    draw_lines(axes, curve_table(layers=layers), STYLES)
    assert layers / axes.lines[0].get_markevery() <= at_most


def test_the_final_norm_stands_right_of_the_depth_one_place_for_each_line():
    axes = Figure().add_subplot()
    draw_final_norm(axes, pl.concat([curve_table("front", 1), curve_table("end", 1)]), STYLES)
    places = [line(axes, f"{name} after final norm").get_xdata()[0] for name in ("front", "end")]
    assert 1 < places[0] < places[1]
    set_depth_axis(axes, len(STYLES))
    assert places[1] < axes.get_xlim()[1]
    without = Figure().add_subplot()
    draw_final_norm(without, curve_table().clear(), STYLES)
    set_depth_axis(without)
    assert without.get_xlim()[1] < 1.05
    assert not without.lines


@pytest.mark.parametrize(
    ("values", "logarithmic", "scale", "said"),
    [
        ([1.0, 1000.0], True, "log", []),
        ([1.0, 2.0], False, "linear", []),
        ([np.nan, None], True, "linear", ["no values"]),
    ],
)
def test_a_vertical_axis_fits_its_values(values, logarithmic, scale, said):
    panels = Panels(("model", MODELS[:1]))
    (axes,) = panels.axes.values()
    axes.plot(pl.Series(values, dtype=pl.Float64).to_numpy())
    panels.fit(pl.DataFrame({"mean": values}, schema={"mean": pl.Float64}), logarithmic=[""] * logarithmic)
    assert axes.get_yscale() == scale
    assert [text.get_text() for text in axes.texts] == said


@pytest.mark.parametrize("along_x", [False, True])
@pytest.mark.parametrize(("sign", "edge"), [(1, 1), (-1, 0), (0, None)])
def test_the_side_on_which_tokens_are_more_alike_is_tinted(sign, edge, along_x):
    axes = Figure().add_subplot()
    axes.set(xlim=(-2, 3), ylim=(-2, 3))
    tint_alike(axes, sign, along_x)
    assert axes.get_xlim() == axes.get_ylim() == (-2, 3)
    spans = [patch.get_bbox() for patch in axes.patches]
    ends = [sorted(box.intervalx if along_x else box.intervaly) for box in spans]
    assert ends == ([] if edge is None else [sorted([0, (-2, 3)[edge]])])


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([[0.2, 0.5], [np.nan, 0.1]], (0, 0.5)),
        ([-3.0, -1.0], (-3, 0)),
        ([1e-15, -1e-15], (-0.05, 0.05)),
        ([np.nan], (-0.05, 0.05)),
    ],
)
def test_a_range_holds_zero_and_is_not_blown_up_to_rounding_noise(values, limits):
    assert range_with_zero(np.array(values)) == limits
    low, high = limits
    assert range_with_zero(np.array(values), 0.25) == (low - 0.25 * (high - low), high + 0.25 * (high - low))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([1.0, 100.0], True), ([1.0, 99.0], False), ([0.001, 0.9], False), ([0.0, 1000.0], False), ([np.nan], False)],
)
def test_decades_are_spanned_by_positive_values_beyond_one(values, wanted):
    assert spans_decades(pl.DataFrame({"mean": values})) == wanted


def test_views_keep_the_wanted_order_and_fall_back_to_all_there_are():
    table = pl.DataFrame({"view": ["unit", "raw", "centred"]})
    assert views_present(table, ["raw", "absent", "unit"]) == ["raw", "unit"]
    assert views_present(table, ["absent"]) == ["centred", "raw", "unit"]
