"""Numbers as people read them, and estimates with the digits of their interval."""

from math import inf, nan

import pytest

from homogenization.report.numbers import probability, share_in_words, significant
from homogenization.report.page import estimate


@pytest.mark.parametrize(
    ("value", "words"), [(-0.0123456, "−0.0123"), (0.7, "0.7"), (1234567.0, "1.23e6"), (-1.5e-5, "−1.5e−5"), (0.0, "0")]
)
def test_three_significant_digits(value, words):
    assert significant(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(1.0, "1"), (0.0499, ".05"), (0.000312, ".00031"), (1e-4, ".0001"), (9e-5, "< .0001")]
)
def test_a_probability(value, words):
    assert probability(value) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.00094961, "0.09 %"), (0.995, "100 %"), (-0.031, "−3.1 %"), (1.2, "120 %"), (-0.00001, "0 %"), (0.0996, "10 %")],
)
def test_a_share_in_percent(share, words):
    assert share_in_words(share) == words


@pytest.mark.parametrize(
    ("number", "low", "high", "told"),
    [
        (0.25, -0.1, 0.5, ("0.25", "[−0.10, 0.50]")),
        (-0.0003142, -0.0031, 0.00248, ("−0.0003", "[−0.0031, 0.0025]")),
        (-0.0029, -0.0058, -0.0000334, ("−0.00290", "[−0.00580, −0.00003]")),  # no end is written as 0
        (0.3826, nan, nan, ("0.383", "")),
        (0.5, None, inf, ("0.5", "")),
    ],
)
def test_an_estimate_has_the_digits_of_its_interval(number, low, high, told):
    assert estimate({"estimate": number, "ci_low": low, "ci_high": high}) == told
