"""Figures of the texts: similarity, placement and balance."""

import math

import numpy as np
import polars as pl
import pytest

from drawings import VARIANTS, N, texts
from library.figures.example_tables import ROLES, balance_table, placement_table, similarity_table
from library.figures.examples import drawn, figure_of, require_refusal


def test_it_states_acceptance_threshold_and_baseline():
    axes = drawn("similarity").axes
    # front: .8 + .004 i reaches .85 from i = 13 on
    assert "27 of 40 rewritten reviews accepted (67.5 %)" in axes[0].get_title(loc="left")
    assert axes[-1].get_title(loc="left").startswith("Random pairs of originals: median 0.539, 40 pairs")
    assert all(panel.lines[-1].get_xdata()[0] == 0.85 for panel in axes)
    assert len({panel.get_xlim() for panel in axes}) == 1
    assert "No review was rewritten" not in texts(drawn("similarity"))
    without_end = similarity_table(variants=[VARIANTS[1], VARIANTS[3]])
    assert "No review was rewritten: End." in texts(figure_of("similarity", without_end))


def test_without_baseline_without_variants_and_of_equal_scores():
    assert len(figure_of("similarity", similarity_table(variants=[])).axes) == 1
    equal = similarity_table(random_pairs=False).with_columns(f1=pl.lit(1.0))
    assert len(figure_of("similarity", equal, threshold=1.0).axes) == 3


def test_a_table_without_scores_is_refused():
    without = similarity_table().with_columns(f1=pl.lit(None, pl.Float64))
    require_refusal("similarity", "the table holds end, front, random_pairs, scattered", without)


def test_bars_are_shares_with_exact_ends_apart():
    figure = drawn("placement")
    assert len(figure.axes) == len(VARIANTS) - 1  # in the original, phrases stand where they stood
    before, after = figure.axes[0].containers  # front
    heights = [bar.get_height() for bar in after]
    np.testing.assert_allclose(heights[:2], [75, 25])
    assert sum(heights) == pytest.approx(100)
    assert before[0].get_height() == pytest.approx(100 / N)  # one phrase stood at exactly 0
    assert figure.axes[1].containers[1][-1].get_height() == 100  # end
    for table, n_empty in ((placement_table(VARIANTS[:3]), 1), (placement_table().filter(variant="original"), 3)):
        assert texts(figure_of("placement", table)).count("no key phrases") == n_empty


def points(axes):
    """(control, row, difference, whether it is filled) of each point."""
    return {
        (curve.get_label(), round(curve.get_ydata()[0]), float(curve.get_xdata()[0]), curve.get_mfc() != "white")
        for curve in axes.lines
        if curve.get_label() in ROLES
    }


def test_a_point_for_each_control_and_covariate_filled_beyond_the_bound():
    figure = drawn("balance")
    front, end = figure.axes
    labels = [label.get_text() for label in front.get_yticklabels()]
    assert labels == ["displacement of phrases", "first word changed", "tokens, Beta (random)"]
    at_infinity = 0.75 * front.get_xlim()[1]
    assert points(front) == {
        ("scattered", 0, 1.5, True), ("scattered", 1, 0.0, False), ("scattered", 2, -0.3, True),
        ("inward", 0, 0.25, False), ("inward", 1, at_infinity, True), ("inward", 2, 0.1, False),
    }  # fmt: skip
    assert points(end) == {("scattered", 1, -at_infinity, True)}  # what is unknown is not drawn
    assert [text.get_text() for text in end.texts] == ["∞"]
    assert front.get_ylim() == (2.5, -0.5)  # the first covariate is on top
    assert "Scattered (rewriting control)" in texts(figure)
    assert "Inward (" not in texts(figure)  # a comparison that is not with a control


def test_a_variant_with_too_few_reviews_says_so():
    unknown = {("end", "scattered"): {("displacement", None): math.nan}}
    assert "too few reviews" in texts(figure_of("balance", balance_table(unknown)))
