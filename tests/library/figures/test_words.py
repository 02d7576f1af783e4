"""Numbers and views as figures write them."""

import polars as pl
import pytest

from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted, short_number


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [
        (-0.01234, "−0.012", "−0.012"),
        (0.6535, "0.653", "+0.653"),
        (0.0996, "0.100", "+0.100"),
        (1.449, "1.4", "+1.4"),
        (12.3, "12", "+12"),
        (99.7, "100", "+100"),
        (1234.5, "1234", "+1234"),
        (0.00999, "0.010", "+0.010"),
        (2.14e-5, "2.1e−5", "+2.1e−5"),
        (-3e7, "−3.0e7", "−3.0e7"),
        (0.0, "0", "0"),
        (-0.0, "0", "0"),
    ],
)
def test_short_numbers(value, plain, signed):
    assert short_number(value) == plain
    assert short_number(value, signed=True) == signed


def test_counts_are_written_as_a_number_or_a_range():
    assert counted(pl.Series([64, 64])) == "64 reviews"
    assert counted(pl.Series([1])) == "1 review"
    assert counted(pl.Series([1500, None, 1400])) == "1,400 to 1,500 reviews"
    assert counted(pl.Series([], dtype=pl.Int64)) == "0 reviews"


@pytest.mark.parametrize(
    ("view", "label"),
    [
        ("raw", "as is, all tokens"),
        ("centred_without_first", "centred, without the first token"),
        ("without_first", "without the first token"),
        ("of_my_own", "of my own"),
    ],
)
def test_views_are_called_by_their_look_and_their_tokens(view, label):
    assert view_label(view) == label
