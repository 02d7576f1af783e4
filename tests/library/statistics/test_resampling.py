"""Resampled intervals and sizes: closed forms, scipy's own answers, and simulations whose rates are known.

A simulated study is a cell, so thousands of them are one call. Rates are held to their nominal value within four
Monte-Carlo standard errors and printed (pytest -s).
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from threadpoolctl import threadpool_limits

from homogenization.statistics import resampling
from homogenization.statistics.resampling import (
    bootstrap_weights,
    flip_p,
    largest_share,
    mean_interval,
    means,
    percentile_interval,
    quantiles,
    resampled,
    sign_flips,
    weighted_means,
)
from library.statistics.simulated import skewed, with_gaps


class TestWeights:
    def test_rows_sum_to_one_and_count_draws(self):
        weights = bootstrap_weights(30, 500, seed=3)
        assert weights.shape == (500, 30)
        assert weights.dtype == np.float64
        np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-14)
        np.testing.assert_allclose(weights * 30, np.round(weights * 30), atol=1e-12)

    def test_counts_are_multinomial(self):
        counts = np.round(bootstrap_weights(10, 20_000, seed=3) * 10).astype(int)
        observed = np.bincount(counts[:, 0], minlength=11)[:6]
        expected = stats.binom(10, 0.1).pmf(np.arange(6)) * 20_000
        assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3
        assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-0.1, abs=0.03)

    def test_seed_decides(self):
        np.testing.assert_array_equal(bootstrap_weights(9, 50, 1), bootstrap_weights(9, 50, 1))
        assert (bootstrap_weights(9, 50, 1) != bootstrap_weights(9, 50, 2)).any()


class TestIntervals:
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_percentiles_against_scipy_from_the_same_draws(self, confidence):
        values = with_gaps(skewed(25, 6))
        draws = weighted_means(values, bootstrap_weights(25, 3000, seed=1))
        low, high = percentile_interval(draws, confidence)
        for cell, column in enumerate(values.T):
            reference = stats.bootstrap(
                (column[~np.isnan(column)],),
                np.mean,
                n_resamples=0,
                bootstrap_result=SimpleNamespace(bootstrap_distribution=draws[:, cell]),
                method="percentile",
                confidence_level=confidence,
            ).confidence_interval
            assert (low[cell], high[cell]) == pytest.approx(tuple(reference), rel=1e-12)

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_of_means_is_students(self, confidence):
        values = with_gaps(skewed(25, 6))
        low, high = mean_interval(values, confidence)
        for cell, column in enumerate(values.T):
            there = column[~np.isnan(column)]
            expected = stats.ttest_1samp(there, 0).confidence_interval(confidence)
            assert (low[cell], high[cell]) == pytest.approx(tuple(expected), rel=1e-12)

    def test_weighted_means_by_definition(self):
        values, weights = with_gaps(skewed(12, 5)), bootstrap_weights(12, 40, seed=5)
        for row, cell in itertools.product(range(40), range(5)):
            there = ~np.isnan(values[:, cell])
            expected = np.average(values[there, cell], weights=weights[row, there])
            assert weighted_means(values, weights)[row, cell] == pytest.approx(expected, rel=1e-12)

    def test_draw_without_any_value(self):
        values = np.full((6, 1), np.nan)
        values[:2, 0] = 1, 3
        weights = bootstrap_weights(6, 300, seed=0)
        draws = weighted_means(values, weights)
        np.testing.assert_array_equal(np.isnan(draws[:, 0]), weights[:, :2].sum(axis=1) == 0)
        assert np.isnan(draws).any()
        low, high = percentile_interval(draws, 0.95)
        assert (low[0], high[0]) == (1, 3)

    def test_a_statistic_is_resampled_as_by_hand(self):
        values, weights = with_gaps(skewed(25, 1)), bootstrap_weights(25, 800, seed=1)
        found = resampled(lambda drawn: weighted_means(values, drawn)[:, 0] ** 2, weights, 0.9)
        low, high = np.quantile(weighted_means(values, weights)[:, 0] ** 2, [0.05, 0.95])
        assert found == pytest.approx((np.nanmean(values) ** 2, low, high), rel=1e-12)
        assert np.isnan(resampled(lambda drawn: np.full(len(drawn), np.nan), weights, 0.9)).all()

    def test_equal_values_and_too_few(self):
        values = np.full((7, 4), np.nan)
        values[:, 0] = 0.1
        values[:3, 1] = -2.0
        values[0, 2] = 5.0
        low, high = mean_interval(values)
        np.testing.assert_allclose(low, [0.1, -2.0, np.nan, np.nan], rtol=1e-15)
        np.testing.assert_array_equal(high, low)

    def test_chunks_change_nothing(self, monkeypatch):
        values, flips = with_gaps(skewed(40, 25)), sign_flips(40, 300, 0)
        whole = flip_p(values, flips)
        monkeypatch.setattr(resampling, "_NUMBERS_IN_CACHE", 70)
        parts = flip_p(values, flips)
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)

    @given(scale=st.floats(1e-6, 1e6), shift=st.floats(-100, 100), seed=st.integers(0, 99))
    def test_moves_with_the_values(self, scale, shift, seed):
        values = skewed(15, 3, seed)
        low, high = mean_interval(values)
        moved_low, moved_high = mean_interval(scale * values + shift)
        tolerance = {"rel": 1e-7, "abs": 1e-7 * (scale + abs(shift))}
        assert moved_low == pytest.approx(scale * low + shift, **tolerance)
        assert moved_high == pytest.approx(scale * high + shift, **tolerance)
        turned_low, turned_high = mean_interval(-values)
        assert (turned_low, turned_high) == (pytest.approx(-high), pytest.approx(-low))


class TestDescription:
    def test_mean_and_median(self):
        values = with_gaps(skewed(21, 6))
        for cell, column in enumerate(values.T):
            there = column[~np.isnan(column)]
            assert means(values)[cell] == pytest.approx(there.mean(), rel=1e-12)
            assert quantiles(values, 0.5)[cell] == pytest.approx(np.median(there), rel=1e-12)

    def test_share_of_the_variance_that_one_review_carries(self):
        values = np.array([[0.0, 1, 2, 1], [0, 2, np.nan, 1], [0, 3, 4, 1], [8, 4, np.nan, 1]])
        # deviations of 2, 2, 2 and 6; of 1.5, .5, .5 and 1.5; of 1 and 1; and none
        np.testing.assert_allclose(largest_share(values), [36 / 48, 2.25 / 5, 0.5, 0])

    def test_undefined_ones(self):
        values = np.array([[0.1, 3, np.nan], [0.1, np.nan, np.nan], [0.1, np.nan, np.nan]])
        np.testing.assert_array_equal(quantiles(values, 0.5), [0.1, 3, np.nan])
        np.testing.assert_allclose(means(values), [0.1, 3, np.nan], rtol=1e-15)


def test_threads_change_no_p_and_no_more_than_the_last_digit():
    values, flips = skewed(200, 300), sign_flips(200, 1000, 0)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append((*flip_p(values, flips), *mean_interval(values)))
    for one, other in zip(results[0][:2], results[1][:2], strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(results[0][2:], results[1][2:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
