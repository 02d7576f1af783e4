"""Intervals of shifts: the scale of each shift is an estimate from the same reviews, and they know it."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from examples import example_table
from homogenization.consequences.probing import distances_of, shifts
from homogenization.consequences.schemas import POOLED_READINGS_SCHEMA
from homogenization.statistics.pooled_states import shifts_table
from homogenization.statistics.resampling import Resampling, mean_interval
from homogenization.tables.consequences import of_pooled_states
from homogenization.tables.over_reviews import linearised
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from library.statistics.shared import CONFIDENCE, SEED

N, WIDTH, DRAWS = 40, 12, 400


def study(n, seed):
    """Pooled states of reviews that lie as unequally far from each other as real ones do, and two changed texts."""
    generator = np.random.default_rng(seed)
    length = np.exp(0.25 * generator.standard_normal((n, 1)))
    originals = length * generator.standard_normal((n, WIDTH))
    moved = [0.3 * np.exp(0.2 * generator.standard_normal((n, 1))) for _ in range(2)]
    return originals, [originals + size * np.eye(WIDTH)[0] for size in moved]


def shifts_of(originals, text):
    return (row[:, None] for row in shifts(originals, text, distances_of(originals)))


def test_the_old_interval_is_too_short_and_that_of_linearised_values_is_not():
    """The share of 300 studies of 40 reviews whose 95 % interval holds the mean shift of the population."""
    originals, (text, _) = study(3000, 0)
    truth = next(shifts_of(originals, text)).mean()
    covered = np.zeros((300, 2), dtype=bool)
    for seed in range(len(covered)):
        originals, (text, _) = study(N, seed + 1)
        shift, in_scales = shifts_of(originals, text)
        for way, values in enumerate((shift, linearised(shift, in_scales))):
            low, high = mean_interval(values, CONFIDENCE)
            covered[seed, way] = low[0] <= truth <= high[0]
    old, new = covered.mean(axis=0)
    assert old < 0.87
    assert 0.91 < new < 0.99


@pytest.mark.parametrize("compared", [False, True])
def test_the_variance_is_that_of_the_jackknife(compared):
    """The jackknife leaves each review out of the mean and of all scales."""
    originals, (text, other) = study(200, 0)
    # another condition, in which distances are others too
    changed = originals * np.linspace(0.2, 2, WIDTH)

    def estimate(stay):
        one, in_scales = shifts_of(originals[stay], text[stay])
        values = linearised(one, in_scales)
        if compared:
            two, in_scales = shifts_of(changed[stay], changed[stay] + (other - originals)[stay])
            one, values = one - two, values - linearised(two, in_scales)
        return one.mean(), values

    whole, values = estimate(np.arange(200))
    left_out = np.array([estimate(np.delete(np.arange(200), review))[0] for review in range(200)])
    jackknife = 199 / 200 * ((left_out - left_out.mean()) ** 2).sum()
    assert values.mean() == pytest.approx(whole)
    assert values.var(ddof=1) / 200 == pytest.approx(jackknife, rel=0.03)


@given(
    ratios=arrays(float, (6, 2), elements=st.one_of(st.floats(0, 2), st.just(np.nan))),
    in_scales=arrays(float, (6, 2), elements=st.floats(-1, 1)),
)
def test_linearised_values_keep_the_mean(ratios, in_scales):
    found = linearised(ratios, in_scales)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(ratios))
    np.testing.assert_allclose(np.nansum(found, axis=0), np.nansum(ratios, axis=0), atol=1e-9)
    np.testing.assert_allclose(linearised(ratios, np.full_like(in_scales, 0.3)), ratios, atol=1e-9)


def rows(variant, shift, in_scales):
    names = {"model": "m", "variant": variant, "condition": "untouched", "layer": 1, "depth": 1.0}
    names |= dict.fromkeys(("log_loss", "correct", "null_log_loss", "null_correct"), np.nan)
    reviews = [f"r{number:02d}" for number in range(len(shift))]
    return example_table(POOLED_READINGS_SCHEMA, **names, review_id=reviews, shift=shift, in_scales=in_scales)


def test_the_tables_count_the_scales_of_the_reviews_that_they_compare():
    originals, texts = study(N, 7)
    (front, of_front), (typo, of_typo) = (shifts_of(originals, text) for text in texts)
    front[:5] = np.nan  # not accepted
    readings = pl.concat([rows("front", front[:, 0], of_front[:, 0]), rows("typo", typo[:, 0], of_typo[:, 0])])
    condition = {"kind": "untouched", "pattern": None, "blocks": "all", "strength": None}
    types = {name: pl.Float64 if name == "strength" else pl.String for name in condition}
    told = readings.with_columns(**{name: pl.lit(value, types[name]) for name, value in condition.items()})
    table = shifts_table(told, pl.DataFrame(schema=SIMILARITY_SCHEMA), {}, Resampling(DRAWS, CONFIDENCE, SEED))
    shared = np.where(np.isnan(front), np.nan, typo)
    for variant, minus, values in (
        ("front", None, linearised(front, of_front)),
        ("typo", None, linearised(typo, of_typo)),
        ("front", "typo", linearised(front, of_front) - linearised(shared, of_typo)),
    ):
        row = table.filter(pl.col("minus").eq_missing(minus), variant=variant).row(0, named=True)
        low, high = mean_interval(values, CONFIDENCE)
        found = (row["estimate"], row["ci_low"], row["ci_high"])
        assert found == pytest.approx((np.nanmean(values), low[0], high[0]))
    assert row["estimate"] == pytest.approx(np.nanmean(front - typo))
    by_review = of_pooled_states(readings).filter(metric="shift", variant="front").sort("review_id")
    np.testing.assert_allclose(by_review["value"].to_numpy(), linearised(front, of_front)[:, 0])
