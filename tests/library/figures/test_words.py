"""Numbers and views as figures write them."""

import polars as pl
import pytest

from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted


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
