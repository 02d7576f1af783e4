"""Which reviews a page shows, with ties, few reviews, one variant, no metric."""

import math

import polars as pl
import pytest

from examples import example_table
from homogenization.report.examples import chosen_reviews
from homogenization.tables.similarity import SIMILARITY_SCHEMA

IDS = [f"r{number}" for number in range(8)]
CHOICE = {"variant": "front", "minus": "original", "metric": "effective_rank", "view": "raw"}


def chosen(values, changed=(True,) * 8, **choice):
    """What is chosen by variant -> review -> value after the last block; elsewhere, values have the other order."""
    rows = [(variant, review, value) for variant, of in values.items() for review, value in of.items()]
    schema = {"variant": pl.String, "review_id": pl.String, "effective_rank": pl.Float64}
    last = pl.DataFrame(rows, schema, orient="row").with_columns(layer=2, view=pl.lit("raw"))
    turned = last.with_columns(-pl.col("effective_rank"))
    metrics = pl.concat([last, turned.with_columns(layer=1), turned.with_columns(view=pl.lit("unit"))])
    similarity = example_table(SIMILARITY_SCHEMA, variant="front", review_id=IDS, accepted=True, changed=changed)
    return chosen_reviews(metrics, similarity, IDS, **CHOICE | choice)


@pytest.mark.parametrize(
    ("front", "original", "found"),
    [
        # by the difference, equal ones by their ids; the median of four is the second
        ([5, 1, 3, 3], [1, 1, 1, 1], [("r1", "least"), ("r2", "median"), ("r0", "greatest")]),
        ([5, math.nan, 3, 3], [1, 1, math.nan, 1], [("r3", "least"), ("r0", "greatest")]),
        ([5, math.nan], [1, 1], [("r0", "median")]),
        # without a difference, the originals
        ([], [2, 1, 3], [("r1", "least"), ("r0", "median"), ("r2", "greatest")]),
        ([], [], [(name, "among the first") for name in IDS[:3]]),
    ],
)
def test_the_extremes_and_the_median(front, original, found):
    values = {"front": front, "original": original}
    values = {name: dict(zip(IDS, map(float, of), strict=False)) for name, of in values.items()}
    assert chosen(values) == found


def test_texts_that_are_the_same_are_not_compared():
    values = {name: dict.fromkeys(IDS, 0.0) for name in ("front", "original")}
    assert chosen(values, [False] * 7 + [True]) == [("r7", "median")]


def test_a_study_of_originals_alone_takes_their_values_and_one_without_a_metric_the_first_reviews():
    original = {"original": {"r0": 3.0, "r1": 1.0, "r2": 2.0, "r3": 0.0}}
    assert chosen(original, variant=None, minus=None) == [("r3", "least"), ("r1", "median"), ("r0", "greatest")]
    assert chosen(original, variant=None, minus=None, metric=None) == [(name, "among the first") for name in IDS[:3]]
