"""The figure of balance."""

import math

from drawings import texts
from library.figures.example_tables import ROLES, balance_table
from library.figures.examples import drawn, figure_of


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
    assert labels == ["displacement of phrases", "words", "tokens per word, Beta (random)"]
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
    assert "too few reviews" in texts(figure_of("balance", {"balance": balance_table(unknown)}))
