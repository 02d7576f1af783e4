"""The panel grid, and what stands around it."""

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from drawings import MODELS, VARIANTS, named
from homogenization.figures.panels import (
    axis_label,
    counted,
    finish,
    fit_vertical_axis,
    label_outer,
    panel_grid,
    range_with_zero,
    variant_handles,
    views_present,
)
from homogenization.figures.style import variant_styles


def test_counts_are_written_as_a_number_or_a_range():
    assert counted(pl.Series([64, 64])) == "64 reviews"
    assert counted(pl.Series([1])) == "1 review"
    assert counted(pl.Series([1500, None, 1400])) == "1,400 to 1,500 reviews"
    assert counted(pl.Series([], dtype=pl.Int64)) == "0 reviews"


@pytest.mark.parametrize(("columns", "blocks"), [(1, [1]), (4, [4]), (5, [3, 2]), (9, [3, 3, 3])])
def test_columns_that_do_not_fit_go_on_below(columns, blocks):
    _, panels = panel_grid(named(str(index) for index in range(columns)), [("above", ""), ("below", "")])
    places = {name: axes.get_subplotspec() for name, axes in panels.items()}
    widths = [0] * len(blocks)
    for (row, _), place in places.items():
        assert place.rowspan.start % 2 == (row == "below")
        widths[place.rowspan.start // 2] += row == "above"
    assert widths == blocks


def test_labels_stand_at_the_outer_panels_alone():
    _, panels = panel_grid(MODELS, [("above", "Above"), ("below", "Below")], share_y=True)
    label_outer(panels, "Depth", {"above": "First", "below": "Second"})
    told = {place: (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) for place, axes in panels.items()}
    assert told == {
        ("above", "alpha"): ("", "First", "Alpha (trained)"),
        ("above", "beta"): ("", "", "Beta (random)"),
        ("below", "alpha"): ("Depth", "Second", ""),
        ("below", "beta"): ("Depth", "", ""),
    }
    assert [text.get_text() for text in panels["above", "beta"].texts] == ["Above"]


def test_a_figure_grows_by_its_title_legend_and_note():
    heights = []
    for note, handles in (("short", []), ("long " * 200, variant_handles(VARIANTS, variant_styles(VARIANTS), {"end"}))):
        figure, _ = panel_grid(MODELS, [("row", "")])
        panels_alone = figure.get_figheight()
        heights.append(finish(figure, "Title", note, handles).get_figheight() - panels_alone)
    assert 0 < heights[0] < heights[1]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["End"]


def test_a_logarithmic_axis_says_so():
    assert axis_label("Norm", logarithmic=True) == "Norm (log scale)"
    assert axis_label("Norm", logarithmic=False) == "Norm"


@pytest.mark.parametrize(
    ("values", "logarithmic", "scale", "said"),
    [
        ([1.0, 1000.0], True, "log", []),
        ([1.0, 2.0], False, "linear", []),
        ([np.nan, None], True, "linear", ["no values"]),
    ],
)
def test_a_vertical_axis_fits_its_values(values, logarithmic, scale, said):
    axes = Figure().add_subplot()
    axes.plot(pl.Series(values, dtype=pl.Float64).to_numpy())
    fit_vertical_axis(axes, pl.Series(values, dtype=pl.Float64), logarithmic)
    assert axes.get_yscale() == scale
    assert [text.get_text() for text in axes.texts] == said


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


def test_views_keep_the_wanted_order_and_fall_back_to_all_there_are():
    table = pl.DataFrame({"view": ["unit", "raw", "centred"]})
    assert views_present(table, ["raw", "absent", "unit"]) == ["raw", "unit"]
    assert views_present(table, ["absent"]) == ["centred", "raw", "unit"]
