from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.report.numbers import probability, share_in_words, significant, typeset


@pytest.mark.parametrize(
    ("formatted", "words"),
    [("-1.5e-05", "−1.5e−5"), ("2e+06", "2e6"), ("-0.30", "−0.30"), ("100", "100"), ("nan", "nan")],
)
def test_a_formatted_number_is_typeset(formatted, words):
    assert typeset(formatted) == words


@pytest.mark.parametrize(("value", "words"), [(-0.0123456, "−0.0123"), (0.7, "0.7"), (1234567.0, "1.23e6"), (0.0, "0")])
def test_three_significant_digits(value, words):
    assert significant(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(1.0, "1"), (0.5, ".5"), (0.0499, ".05"), (0.000312, ".00031"), (1e-4, ".0001"), (9e-5, "< .0001")],
)
def test_a_probability(value, words):
    assert probability(value) == words


@given(share=st.floats(-3, 3) | st.floats(-0.1, 0.1) | st.floats(-1e-3, 1e-3))
def test_a_share_is_rounded_once(share):
    """What is written lies at most half a unit of its last digit away: two digits, no third decimal."""
    written, unit = share_in_words(share).split()
    size = abs(100 * share)
    least = max(-2, len(str(int(size))) - 2 if size >= 1 else -1 if size >= 0.95 else -2)
    assert unit == "%"
    off = abs(Fraction(written.replace("−", "-")) - Fraction(100 * share))
    assert off <= Fraction(10) ** (0 if size >= 99.5 else least) / 2


@pytest.mark.parametrize(
    ("share", "words"),
    [
        *((0.012451, "1.2 %"), (0.12496, "12 %"), (0.00094961, "0.09 %"), (0.9949, "99 %"), (0.995, "100 %")),
        *((-0.031, "−3.1 %"), (1.2, "120 %"), (0.0003, "0.03 %"), (-0.00001, "0 %"), (-0.0, "0 %"), (0.0996, "10 %")),
    ],
)
def test_a_share_in_percent(share, words):
    assert share_in_words(share) == words
