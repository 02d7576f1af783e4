"""The figure of dose and response."""

import numpy as np
import polars as pl
import pytest

from dosed import STRENGTHS
from drawings import line, texts
from library.figures.changed_tables import EFFECTS, not_tested
from library.figures.examples import drawn, figure_of, tables_of

FIGURE = "dose_response"


def panel(row, column, layers=0):
    """A panel of a row: steering and template, twice. Rows: the first model's two ranges in one view; the second's."""
    return drawn(FIGURE).axes[row * 4 + layers * 2 + column]


def test_the_note_and_the_labels_say_what_is_left_out_and_what_is_a_control():
    assert "Left out: 3 reviews of a dose, in which another token took over the sink." in texts(drawn(FIGURE))
    assert "Alpha (trained); middle blocks" in texts(drawn(FIGURE))
    assert "control: nowhere (removed)" in texts(drawn(FIGURE))


def test_lines_are_the_changes_of_the_table_against_the_damage_and_start_at_no_dose():
    doses = tables_of(FIGURE)["doses"].filter(model="alpha", blocks="all")
    effects = tables_of(FIGURE)["interventions"].filter(model="alpha", view="without_first", layers="all", blocks="all")
    for pattern in EFFECTS:
        rows = effects.filter(pattern=pattern, against="untouched", part="whole").sort("strength")
        drawn_line = line(panel(0, 0), pattern)
        np.testing.assert_allclose(drawn_line.get_xdata(), [0, *doses.filter(pattern=pattern).sort("strength")["kl"]])
        np.testing.assert_allclose(drawn_line.get_ydata(), [0, *rows["estimate"]])


def test_the_damage_is_on_the_scale_of_its_root_and_the_note_says_which_doses_the_markers_are():
    axes = panel(0, 0)
    assert f"λ = {', '.join(f'{strength:g}' for strength in STRENGTHS)}" in texts(drawn(FIGURE))
    doses = tables_of(FIGURE)["doses"].filter(model="alpha", pattern="uniform", blocks="all").sort("strength")
    np.testing.assert_allclose(line(axes, "uniform").get_xdata(), [0, *doses["kl"]])
    places = axes.transData.transform([(value, 0) for value in (0.0, 0.04, 0.16)])[:, 0]
    assert places[2] - places[0] == pytest.approx(2 * (places[1] - places[0]))
    assert axes.get_xlim()[1] >= doses["kl"].max()


def test_a_template_has_both_signs():
    np.testing.assert_allclose(line(panel(0, 1), "template").get_xdata(), [-0.5, 0, 0.5])


def test_a_model_without_next_token_has_its_doses_on_the_axis_and_without_a_template_no_panel():
    np.testing.assert_allclose(line(panel(2, 0), "first").get_xdata(), [0, *STRENGTHS])
    assert panel(2, 0).get_xlabel().startswith("λ")
    assert panel(1, 0).get_xlabel().startswith("KL")
    assert not panel(2, 1).axison


def test_only_patterns_that_are_no_control_have_bands():
    assert len(panel(0, 0).collections) == 1


def test_each_range_of_blocks_has_a_row_in_one_view():
    np.testing.assert_allclose(line(panel(1, 0), "first").get_ydata(), [0, 9], atol=1e-9)
    assert len(drawn(FIGURE).axes) == 12
    highest = [max(np.max(curve.get_ydata()) for curve in panel(row, 0).lines) for row in range(3)]
    assert [value > 1 for value in highest] == [False, True, False]
    assert "Tokens: without the first token." in texts(drawn(FIGURE))


def test_one_range_has_each_view_in_a_row_and_is_named_below():
    only = {"interventions": tables_of(FIGURE)["interventions"].filter(blocks="middle")}
    written = texts(figure_of(FIGURE, only))
    assert "Changed: middle blocks." in written
    assert "Alpha (trained); all tokens" in written
    assert "Alpha (trained); without the first token" in written
    assert "Tokens:" not in written


def test_three_models_with_two_ranges_fit_on_a_page():
    more = {
        name: pl.concat([table.with_columns(model=pl.lit(f"{table['model'][0]}{n}")) for n in range(3)])
        for name, table in ((name, table.filter(model="alpha")) for name, table in tables_of(FIGURE).items())
    }
    models = [[f"alpha{number}", f"Model {number}"] for number in range(3)]
    assert figure_of(FIGURE, more, models=models).get_figheight() < 17


def test_too_few_reviews_are_said_in_every_panel():
    tables = tables_of(FIGURE)
    figure = figure_of(FIGURE, {**tables, "interventions": not_tested(tables["interventions"])})
    assert "not tested: " in texts(figure)
    labels = {curve.get_label() for axes in figure.axes for curve in axes.lines}
    assert not labels & EFFECTS.keys()
