"""Verdicts, criteria and what is measured, in words."""

from importlib import import_module

import numpy as np
import pytest

from homogenization.claims.verdicts import criterion_in_words, in_words
from homogenization.names.verdicts import NOT_TESTED, SUPPORTED


def found(estimate, low, high, p, **more):
    """A row of the table claims."""
    row = {"verdict": SUPPORTED, "estimate": estimate, "ci_low": low, "ci_high": high, "p_max_t": p, "n_reviews": 499}
    row |= {"unit": "reviews", "relative_effect": np.nan, "fragile": False, "why_fragile": None, "reason": None}
    row |= {"n_same_first": None, "verdict_same_first": None, "first_decides": False, "share_changed": np.nan}
    return row | more


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((-0.0123456, -0.015, -0.009, 0.000312), "−0.0123 [−0.015, −0.009], n 499, p .00031"),
        ((0.65, 0.6, 0.701, np.nan), "0.65 [0.6, 0.701], n 499"),
        ((1234567.0, 1e-5, 2.34567e7, 1.0), "1.23e6 [1e−5, 2.35e7], n 499, p 1"),
        ((0.0, -1.5e-10, 0.0, 1e-9), "0 [−1.5e−10, 0], n 499, p < .0001"),
        ((100.0, 99.9, 100.1, 0.5), "100 [99.9, 100], n 499, p .5"),
    ],
)
def test_a_verdict_in_words(numbers, words):
    assert in_words(found(*numbers)) == f"supported: {words}"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"relative_effect": -0.0312, "depth_range": 0.1234}, "−3.1 % of depth (range 0.12), n 499, p .01"),
        (
            {"relative_effect": 0.0312, "depth_range": 0.1234, "statistic": "contrast", "metric": "effective_rank"},
            "3.1 % of depth (range 0.12) less alike, n 499, p .01",
        ),
        ({"fragile": True, "why_fragile": "by ranks so"}, "n 499, p .01, fragile: by ranks so"),
        ({"unit": "pools", "n_reviews": 4}, "4 pools of texts, p .01"),
        ({"n_same_first": 499, "verdict_same_first": "supported"}, "n 499, p .01"),
        ({"n_same_first": 7, "verdict_same_first": "supported"}, "n 499, p .01"),
        (
            {"n_same_first": 7, "first_decides": True, "verdict_same_first": "negligible"}
            | {"same_first": 0.001, "same_first_low": -0.002, "same_first_high": 0.003},
            "n 499, p .01, where the first token stays negligible: 0.001 [−0.002, 0.003], n 7",
        ),
        ({"n_same_first": 4}, "n 499, p .01, the first token stays in 4, too few to tell it apart"),
        ({"share_changed": 1.0}, "n 499, p .01"),
        ({"share_changed": 0.4}, "n 499, 40 % of the texts changed, p .01"),
        ({"reason": "no interval"}, "n 499, p .01, no interval"),
    ],
)
def test_what_else_a_verdict_says(more, words):
    assert in_words(found(0.2, 0.1, 0.3, 0.01, **more)) == f"supported: 0.2 [0.1, 0.3], {words}"


def test_what_was_not_tested_in_words():
    assert in_words({"verdict": NOT_TESTED, "reason": "no such metric"}) == "not tested: no such metric"


@pytest.mark.parametrize(
    ("statistic", "keys", "words"),
    [
        ("level", {"squared": False, "layers": "all"}, "mean over all layers"),
        ("level", {"squared": True, "layers": "output"}, "mean square at the output"),
        ("net_change", {"since": "input"}, "change from the input to the output"),
        ("net_change", {"since": "first block"}, "change from after the first block to the output"),
        ("peak", {"of": "depth"}, "depth of the maximum"),
        ("peak", {"of": "height"}, "maximum over layers"),
        ("component", {"by": "rise"}, "lead over the other components"),
        ("component", {"by": "influence"}, "lead in influence over the other components"),
    ],
)
def test_what_is_measured_in_words(statistic, keys, words):
    assert import_module(f"homogenization.claims.statistics.{statistic}").in_words(keys) == words


@pytest.mark.parametrize(
    ("criterion", "words"),
    [({"above": -0.5}, "> −0.5"), ({"below": 1e-5}, "< 1e−5"), ({"between": [0.6, 0.7]}, "0.6 to 0.7")],
)
def test_a_criterion_in_words(criterion, words):
    assert criterion_in_words(criterion) == words
