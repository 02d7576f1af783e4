"""The figure of balance."""

import math
from functools import cache

import polars as pl

from drawings import MODELS, VARIANTS, require_axis_labels, require_house_style, require_refusal, shown, texts
from homogenization.figures.balance import draw
from homogenization.tables.imbalance import BALANCE_SCHEMA

NAMED = [*VARIANTS, ["inward", "Inward"]]
DIFFERENCES = {  # (variant, control) -> by covariate and model
    ("front", "scattered"): {("displacement", None): 1.5, ("words", None): 0.0, ("tokens_per_word", "beta"): -0.3},
    ("front", "inward"): {("displacement", None): 0.25, ("words", None): math.inf, ("tokens_per_word", "beta"): 0.1},
    ("end", "scattered"): {("displacement", None): math.nan, ("words", None): -math.inf},
}
ROLES = {"scattered": "rewriting", "inward": None}


def balance_table(differences=DIFFERENCES):
    rows = [
        (variant, control, ROLES[control], model, covariate, 1.0, 1.0, smd, 40, abs(smd) <= 0.25)
        for (variant, control), of_pair in differences.items()
        for (covariate, model), smd in of_pair.items()
    ]
    return pl.DataFrame(rows, schema=BALANCE_SCHEMA, orient="row")


def figure_of(table):
    return draw({"balance": table}, shown(variants=NAMED, models=MODELS, max_imbalance=0.25))


@cache
def drawn():
    return figure_of(balance_table())


def points(axes):
    """(control, row, difference, whether it is filled) of each point."""
    return {
        (curve.get_label(), round(curve.get_ydata()[0]), float(curve.get_xdata()[0]), curve.get_mfc() != "white")
        for curve in axes.lines
        if curve.get_label() in ROLES
    }


def test_it_keeps_the_house_style():
    require_house_style(drawn(), "n = 40 reviews")
    require_axis_labels(drawn())


def test_a_point_for_each_control_and_covariate_filled_beyond_the_bound():
    front, end = drawn().axes
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
    assert "Scattered (rewriting control)" in texts(drawn())
    assert "Inward (" not in texts(drawn())  # a comparison that is not with a control


def test_a_variant_with_too_few_reviews_says_so():
    unknown = {("end", "scattered"): {("displacement", None): math.nan}}
    assert "too few reviews" in texts(figure_of(balance_table(unknown)))


def test_an_empty_table_is_refused():
    require_refusal(draw, {"balance": balance_table().clear()}, shown(max_imbalance=0.25), "variants original, front")
