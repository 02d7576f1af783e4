from math import inf, nan

import pytest

from homogenization.report.page import estimate, grouped


@pytest.mark.parametrize(
    ("number", "low", "high", "told"),
    [
        (0.25, -0.1, 0.5, ("0.25", "[−0.10, 0.50]")),
        (-0.0003142, -0.0031, 0.00248, ("−0.0003", "[−0.0031, 0.0025]")),
        (123.4, 101.2, 145.6, ("123", "[101, 146]")),
        (-0.0029, -0.0058, -0.0000334, ("−0.00290", "[−0.00580, −0.00003]")),  # no end is written as 0
        (0.3826, nan, nan, ("0.383", "")),
        (0.5, 0.5, 0.5, ("0.5", "")),
        (0.5, None, inf, ("0.5", "")),
    ],
)
def test_an_estimate_has_the_digits_of_its_interval(number, low, high, told):
    assert estimate({"estimate": number, "ci_low": low, "ci_high": high}) == told


def test_what_is_said_together_keeps_its_order():
    found = grouped(["bb", "a", "ba", "b"], lambda word: word[0])
    assert list(found.items()) == [("b", ["bb", "ba", "b"]), ("a", ["a"])]
