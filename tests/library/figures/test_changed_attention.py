"""Figures of changed attention: doses, conditions and harm."""

import numpy as np
import polars as pl
import pytest

from dosed import STRENGTHS
from drawings import line, texts
from library.figures.changed_tables import EFFECTS, not_tested
from library.figures.changed_tables import N_CHANGED as N
from library.figures.examples import drawn, figure_of, tables_of

FIGURE = "dose_response"


def dosed(row):
    """The first panel of a row. Rows: the first model's two ranges in one view; the second's."""
    return drawn(FIGURE).axes[row * 2]


def test_lines_are_the_changes_of_the_table_against_the_damage_and_start_at_no_dose():
    doses = tables_of(FIGURE)["doses"].filter(model="alpha", blocks="all")
    effects = tables_of(FIGURE)["interventions"].filter(model="alpha", view="without_first", layers="all", blocks="all")
    for pattern in EFFECTS:
        rows = effects.filter(pattern=pattern, against="untouched").sort("strength")
        drawn_line = line(dosed(0), pattern)
        np.testing.assert_allclose(drawn_line.get_xdata(), [0, *doses.filter(pattern=pattern).sort("strength")["kl"]])
        np.testing.assert_allclose(drawn_line.get_ydata(), [0, *rows["estimate"]])


def test_the_damage_is_on_the_scale_of_its_root_and_the_note_says_which_doses_the_markers_are():
    axes = dosed(0)
    assert f"λ = {', '.join(f'{strength:g}' for strength in STRENGTHS)}" in texts(drawn(FIGURE))
    doses = tables_of(FIGURE)["doses"].filter(model="alpha", pattern="uniform", blocks="all").sort("strength")
    np.testing.assert_allclose(line(axes, "uniform").get_xdata(), [0, *doses["kl"]])
    places = axes.transData.transform([(value, 0) for value in (0.0, 0.04, 0.16)])[:, 0]
    assert places[2] - places[0] == pytest.approx(2 * (places[1] - places[0]))
    assert axes.get_xlim()[1] >= doses["kl"].max()


def test_a_model_without_next_token_has_its_doses_on_the_axis():
    np.testing.assert_allclose(line(dosed(2), "first").get_xdata(), [0, *STRENGTHS])
    assert dosed(2).get_xlabel().startswith("λ")
    assert dosed(1).get_xlabel().startswith("KL")
    assert len(dosed(0).collections) == 1, "controls have no bands"


def test_each_range_of_blocks_has_a_row_in_one_view():
    np.testing.assert_allclose(line(dosed(1), "first").get_ydata(), [0, 9], atol=1e-9)
    assert len(drawn(FIGURE).axes) == 6
    highest = [max(np.max(curve.get_ydata()) for curve in dosed(row).lines) for row in range(3)]
    assert [value > 1 for value in highest] == [False, True, False]
    assert "without the first token; n = " in texts(drawn(FIGURE))


def test_one_range_has_each_view_in_a_row_and_is_named_below():
    only = {"interventions": tables_of(FIGURE)["interventions"].filter(blocks="middle")}
    written = texts(figure_of(FIGURE, only))
    assert "middle blocks; n = " in written
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


def panel(row, column):
    return drawn("conditions").axes[row * 3 + column]


def test_points_are_the_estimates_of_the_reviews_whose_sink_stayed():
    table = tables_of("conditions")["interventions"].filter(
        model="alpha", view="all_tokens", against="untouched", layers="all"
    )
    for pattern, label in (("first", "first token masked"), ("constant", "equal positions")):
        (row,) = table.filter(pattern=pattern).iter_rows(named=True)
        assert line(panel(0, 0), label).get_xdata()[0] == row["estimate"]
    assert table.filter(pattern="first")["n_reviews"].item() == N - 4


def test_where_sinks_moved_the_mean_over_all_reviews_stands_beside():
    for column, of_layers in ((0, 1.0), (1, 2.0)):
        labels = [curve.get_label() for curve in panel(0, column).lines]
        assert [label for label in labels if "all reviews" in label] == [
            "first token masked, all reviews",
            "massive tokens masked, all reviews",
        ]
        assert line(panel(0, column), labels[-1]).get_xdata()[0] == pytest.approx(-0.3 * of_layers)
    assert "massive tokens masked" not in labels, "it moved in every review"
    lanes = [label.get_text() for label in panel(0, 0).get_yticklabels()]
    assert lanes[0] == f"first token masked\nsink moved in 4 of {N}"
    assert lanes[1] == "a random token masked"


def test_a_model_without_next_token_says_so():
    assert "no next token" in [text.get_text() for text in panel(2, 2).texts]
    assert "Alpha (trained); without the first token" in texts(drawn("conditions"))
    assert "0.16" in [text.get_text() for text in panel(0, 2).texts]
    low, high = panel(0, 0).get_xlim()
    assert low == -high, "the tinted side is half of every panel"
    assert panel(0, 0).get_xlim() == panel(0, 1).get_xlim()


def test_a_model_whose_sinks_all_moved_has_means_alone():
    barred = {name: table.filter(pattern="massive") for name, table in tables_of("conditions").items()}
    axes = figure_of("conditions", barred).axes[0]
    assert [curve.get_label() for curve in axes.lines] == ["zero", "massive tokens masked, all reviews"]


def test_rounding_is_no_damage():
    kl = pl.when(pattern="constant").then(-5e-10).otherwise("kl")
    axes = figure_of("conditions", {"doses": tables_of("conditions")["doses"].with_columns(kl=kl)}).axes
    assert [text.get_text() for text in axes[2].texts].count("0") == 1


def test_conditions_that_are_not_tested_have_no_point_and_are_counted():
    tables = tables_of("conditions")
    figure = figure_of("conditions", {**tables, "interventions": not_tested(tables["interventions"])})
    assert "not tested, and without a point: conditions with" in texts(figure)
    labels = {curve.get_label() for axes in figure.axes[:2] for curve in axes.lines}
    assert labels == {"zero", "first token masked, all reviews", "massive tokens masked, all reviews"}


def test_points_are_conditions_and_placebos_are_open():
    figure = drawn("harm")
    weak, strong = (curve for curve in figure.axes[0].lines if curve.get_label() == "first")
    removed, masked, random = (line(figure.axes[0], name) for name in ("removed", "masked first", "masked random"))
    table = tables_of("harm")["harm"].filter(model="alpha")
    for first, row in zip(
        (weak, strong),
        table.filter(kind="steering", pattern="first").sort("strength").iter_rows(named=True),
        strict=True,
    ):
        np.testing.assert_allclose(first.get_xydata(), [[row["cosine"], row["kl"]]])
    assert weak.get_markersize() < strong.get_markersize()
    assert removed.get_markerfacecolor() == random.get_markerfacecolor() == "white"
    assert "white" not in (weak.get_markerfacecolor(), masked.get_markerfacecolor())
    written = texts(figure)
    assert "placebo: nowhere (removed)" in written
    assert "another token took over the sink" in written
    assert "no next token" in written
