"""The figure of masked keys, clipped sinks and other positions."""

import polars as pl
import pytest

from drawings import line, texts
from library.figures.changed_tables import N_CHANGED as N
from library.figures.changed_tables import not_tested
from library.figures.examples import drawn, figure_of, tables_of


def panel(row, column):
    return drawn("conditions").axes[row * 3 + column]


def test_points_are_the_estimates_of_the_reviews_whose_sink_stayed():
    table = tables_of("conditions")["interventions"].filter(
        model="alpha", view="all_tokens", against="untouched", layers="all"
    )
    for pattern, label in (("first", "first token masked"), ("constant", "positions constant")):
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
    assert "0.160" in [text.get_text() for text in panel(0, 2).texts]


def test_both_changes_share_a_scale():
    low, high = panel(0, 0).get_xlim()
    assert low == -high  # the tinted side is half of every panel
    assert panel(0, 0).get_xlim() == panel(0, 1).get_xlim()


def test_a_model_whose_sinks_all_moved_has_means_alone():
    barred = {name: table.filter(pattern="massive") for name, table in tables_of("conditions").items()}
    axes = figure_of("conditions", barred).axes[0]
    assert [curve.get_label() for curve in axes.lines] == ["zero", "massive tokens masked, all reviews"]


def test_reviews_that_are_too_long_are_counted_and_rounding_is_no_damage():
    offset = pl.when(pattern="constant")
    changed = tables_of("conditions")["doses"].with_columns(
        kl=offset.then(-5e-10).otherwise("kl"), n_skipped=offset.then(5).otherwise("n_skipped"), n_reviews=N - 5
    )
    axes = figure_of("conditions", {"doses": changed}).axes
    lanes = [label.get_text() for label in axes[0].get_yticklabels()]
    assert lanes[-1] == f"positions constant\n5 of {N} too long"
    assert [text.get_text() for text in axes[2].texts].count("0") == 1


def test_conditions_that_are_not_tested_have_no_point_and_are_counted():
    tables = tables_of("conditions")
    figure = figure_of("conditions", {**tables, "interventions": not_tested(tables["interventions"])})
    assert "Not tested, and without a point: conditions with" in texts(figure)
    labels = {curve.get_label() for axes in figure.axes[:2] for curve in axes.lines}
    assert labels == {"zero", "first token masked, all reviews", "massive tokens masked, all reviews"}
