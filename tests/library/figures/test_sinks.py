"""The figure of secondary sinks."""

from functools import cache

import polars as pl

from drawings import MODELS, N, require_house_style, shown, texts
from homogenization.figures.sinks import draw
from homogenization.tables.sinks import SINKS_TABLE_SCHEMA

TOKENS = {None: 30, "the": 20, " ": 10, "$5": 8, **{f"word{index}": 2 for index in range(12)}}


def sinks_table(kinds=("attention",), models=("alpha",)):
    """Rows of tables/sinks.parquet."""
    rows = [
        {
            **{"model": model, "variant": variant, "kind": kind, "token": token, "n_reviews": count + more},
            **{"n_read": N, "position": 12.0, "first_block": 3.0, "last_block": 9.0},
        }
        for model in models
        for kind in kinds
        for variant, more in (("original", 0), ("front", 1))
        for token, count in TOKENS.items()
    ]
    return pl.DataFrame(rows, schema=SINKS_TABLE_SCHEMA)


@cache
def drawn():
    return draw({"sinks": sinks_table()}, shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")


def test_lanes_are_any_token_then_the_most_frequent_with_their_places():
    labels = [label.get_text() for label in drawn().axes[0].get_yticklabels()]
    assert labels[:4] == ["any token (12; 3–9)", "“the” (12; 3–9)", "space (12; 3–9)", r"“\$5” (12; 3–9)"]
    assert len(labels) == 9


def test_markers_are_shares_of_the_reviews_of_a_variant():
    of_variant = {}
    for curve in drawn().axes[0].lines:
        of_variant.setdefault(curve.get_label(), []).extend(curve.get_xdata())
    assert of_variant["original"][:4] == [count / N for count in (30, 20, 10, 8)]
    assert of_variant["front"][:4] == [count / N for count in (31, 21, 11, 9)]


def test_panels_without_sinks_say_so():
    assert [text.get_text() for axes in drawn().axes for text in axes.texts if text.get_text() == "none"] == [
        "none"
    ] * 3
    nothing = draw({"sinks": sinks_table().clear()}, shown(models=MODELS[:1]))
    assert texts(nothing).count("none") == 2
    assert "n = " not in texts(nothing)
