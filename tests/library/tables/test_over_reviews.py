import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.tables.over_reviews import keep_accepted, summarise
from measured import accepted


def test_a_variant_keeps_its_own_reviews_in_their_order_and_the_original_all():
    variants = ["front", "end", "original", "front", "front", "unscored", "end", "front"]
    table = pl.DataFrame({"variant": variants, "review_id": [*"cbbbabac"], "x": range(8)})
    similarity = pl.concat([accepted("a", "c"), accepted("b", variant="end"), accepted(variant="random_pairs")])
    assert keep_accepted(table, similarity)["x"].to_list() == [0, 1, 2, 4, 7]
    assert keep_accepted(table, similarity.clear())["x"].to_list() == [2]


def test_intervals_are_students_and_missing_values_are_left_out():
    values = np.random.default_rng(0).exponential(size=12)
    table = pl.DataFrame({"group": [*"g" * 13, "h"], "value": [*values, math.nan, math.nan]})
    row, empty = summarise(table, ["group"], "value").iter_rows(named=True)
    low, high = stats.t.interval(0.95, 11, loc=values.mean(), scale=stats.sem(values))
    assert (row["n_reviews"], row["ci_low"], row["ci_high"]) == (12, pytest.approx(low), pytest.approx(high))
    assert row["median"] == pytest.approx(np.median(values))
    assert row["std"] == pytest.approx(values.std(ddof=1))
    assert empty["n_reviews"] == 0
    assert math.isnan(empty["mean"])
