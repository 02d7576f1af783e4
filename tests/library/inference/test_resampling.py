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

from homogenization.inference import resampling
from homogenization.inference.resampling import (
    bca_interval,
    bootstrap_weights,
    effect_size,
    max_t_p,
    mean_interval,
    means,
    medians,
    percentile_interval,
    resampled,
    reviews_for_power,
    sign_flip_p,
    sign_flips,
    weighted_means,
)
from library.statistics.simulated import assert_rate, skewed, with_gaps


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
    @pytest.mark.parametrize("method", ["BCa", "percentile"])
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_against_scipy_from_the_same_draws(self, method, confidence):
        values = with_gaps(skewed(25, 6))
        draws = weighted_means(values, bootstrap_weights(25, 3000, seed=1))
        low, high = (
            mean_interval(values, bootstrap_weights(25, 3000, seed=1), confidence)
            if method == "BCa"
            else percentile_interval(draws, confidence)
        )
        for cell, column in enumerate(values.T):
            reference = stats.bootstrap(
                (column[~np.isnan(column)],),
                np.mean,
                n_resamples=0,
                bootstrap_result=SimpleNamespace(bootstrap_distribution=draws[:, cell]),
                method=method,
                confidence_level=confidence,
            ).confidence_interval
            assert (low[cell], high[cell]) == pytest.approx(tuple(reference), rel=1e-12)

    def test_another_statistic_against_scipy(self):
        """bca_interval knows nothing of means: the standard deviation, jackknifed by brute force."""
        sample = skewed(20, 1)[:, 0]
        indices = np.random.default_rng(2).integers(20, size=(2000, 20))
        draws = sample[indices].std(axis=1)
        jackknife = np.array([np.delete(sample, index).std() for index in range(20)])
        low, high = bca_interval(np.array([sample.std()]), draws[:, None], jackknife[:, None], 0.9)
        reference = stats.bootstrap(
            (sample,),
            np.std,
            n_resamples=0,
            bootstrap_result=SimpleNamespace(bootstrap_distribution=draws),
            confidence_level=0.9,
        ).confidence_interval
        assert (low[0], high[0]) == pytest.approx(tuple(reference), rel=1e-12)

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
        for low, high in (percentile_interval(draws, 0.95), mean_interval(values, weights)):
            assert (low[0], high[0]) == (1, 3)

    def test_a_statistic_is_resampled_as_by_hand(self):
        values, weights = with_gaps(skewed(25, 1)), bootstrap_weights(25, 800, seed=1)
        found = resampled(lambda drawn: weighted_means(values, drawn)[:, 0] ** 2, weights, 0.9)
        low, high = np.quantile(weighted_means(values, weights)[:, 0] ** 2, [0.05, 0.95])
        assert found == pytest.approx((np.nanmean(values) ** 2, low, high), rel=1e-12)
        assert np.isnan(resampled(lambda drawn: np.full(len(drawn), np.nan), weights, 0.9)).all()

    def test_ties_count_half(self):
        """Whole numbers: many draws equal the estimate, and rounding must not decide on which side they fall."""
        values = np.random.default_rng(0).integers(-1, 3, (30, 1)).astype(np.float64)
        exact = np.round(bootstrap_weights(30, 2000, seed=1) * 30) @ values / 30  # sums of whole numbers
        jackknife = (values.sum() - values) / 29
        expected = bca_interval(values.mean(axis=0), exact, jackknife, 0.95)
        for found, wanted in zip(mean_interval(values, bootstrap_weights(30, 2000, seed=1)), expected, strict=True):
            assert found == pytest.approx(wanted, rel=1e-12)

    def test_equal_values_and_too_few(self):
        values = np.full((7, 4), np.nan)
        values[:, 0] = 0.1
        values[:3, 1] = -2.0
        values[0, 2] = 5.0
        low, high = mean_interval(values, bootstrap_weights(7, 200, seed=0))
        np.testing.assert_allclose(low, [0.1, -2.0, np.nan, np.nan], rtol=1e-15)
        np.testing.assert_array_equal(high, low)

    def test_estimate_beyond_all_draws(self):
        """Finite bounds at the edge of the draws rather than an infinite correction."""
        draws = np.linspace(0, 1, 100)[:, None]
        low, high = bca_interval(np.array([2.0]), draws, np.arange(5.0)[:, None], 0.95)
        assert 0.9 < low[0] <= high[0] == pytest.approx(1, abs=1e-3)

    def test_chunks_change_nothing(self, monkeypatch):
        values, weights, flips = with_gaps(skewed(40, 25)), bootstrap_weights(40, 300, 0), sign_flips(40, 300, 0)
        whole = [*mean_interval(values, weights), sign_flip_p(values, flips), max_t_p(values, flips)]
        monkeypatch.setattr(resampling, "_NUMBERS_AT_ONCE", 900)
        parts = [*mean_interval(values, weights), sign_flip_p(values, flips), max_t_p(values, flips)]
        for one, other in zip(whole, parts, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)

    @given(scale=st.floats(1e-6, 1e6), shift=st.floats(-100, 100), seed=st.integers(0, 99))
    def test_moves_with_the_values(self, scale, shift, seed):
        values, weights = skewed(15, 3, seed), bootstrap_weights(15, 400, seed)
        low, high = mean_interval(values, weights)
        moved_low, moved_high = mean_interval(scale * values + shift, weights)
        tolerance = {"rel": 1e-7, "abs": 1e-7 * (scale + abs(shift))}
        assert moved_low == pytest.approx(scale * low + shift, **tolerance)
        assert moved_high == pytest.approx(scale * high + shift, **tolerance)
        turned_low, turned_high = mean_interval(-values, weights)
        assert (turned_low, turned_high) == (pytest.approx(-high), pytest.approx(-low))

    @pytest.mark.parametrize("kind", ["normal", "skewed"])
    def test_coverage(self, kind):
        n, studies = 400, 4000
        rng = np.random.default_rng(11)
        values = rng.normal(size=(n, studies)) if kind == "normal" else rng.exponential(size=(n, studies)) - 1
        low, high = mean_interval(values, bootstrap_weights(n, 2000, seed=5))
        # BCa is exact up to a term of order 1 / n, about .001 here
        assert_rate(f"coverage, {kind} differences", (low <= 0) & (high >= 0), 0.95, slack=0.001)


class TestSampleSize:
    @pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15), (-0.5, 34)])
    def test_known_ones(self, effect, n):
        assert reviews_for_power(np.array([effect]))[0] == n

    @pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.95, 0.01), (0.1, 0.05)])
    def test_smallest_by_search(self, power, alpha):
        """By scipy's other noncentral t, n by n."""
        from scipy.special import nctdtr, stdtrit

        effects = np.array([0.15, 0.35, 1.2, 4.0])
        for effect, found in zip(effects, reviews_for_power(effects, power, alpha), strict=True):
            for n in range(2, 2000):
                critical, shift = stdtrit(n - 1, 1 - alpha / 2), effect * np.sqrt(n)
                if 1 - nctdtr(n - 1, shift, critical) + nctdtr(n - 1, shift, -critical) >= power:
                    break
            assert found == n

    def test_extremes(self):
        sizes = reviews_for_power(np.array([0, np.nan, 1e-4, 1e-3, 0.01, 100, 1e6, 1e14]))
        np.testing.assert_array_equal(sizes, [np.inf, np.nan, np.inf, np.inf, 78491, 2, 2, 2])
        assert reviews_for_power(np.array([])).shape == (0,)

    def test_larger_effects_need_fewer(self):
        sizes = reviews_for_power(np.geomspace(0.003, 50, 400))
        assert (np.diff(sizes) <= 0).all()


class TestDescription:
    def test_effect_mean_and_median(self):
        values = with_gaps(skewed(21, 6))
        for cell, column in enumerate(values.T):
            there = column[~np.isnan(column)]
            assert effect_size(values)[cell] == pytest.approx(there.mean() / there.std(ddof=1), rel=1e-12)
            assert means(values)[cell] == pytest.approx(there.mean(), rel=1e-12)
            assert medians(values)[cell] == pytest.approx(np.median(there), rel=1e-12)

    def test_undefined_ones(self):
        values = np.array([[0.1, 3, np.nan], [0.1, np.nan, np.nan], [0.1, np.nan, np.nan]])
        assert np.isnan(effect_size(values)).all()
        np.testing.assert_array_equal(medians(values), [0.1, 3, np.nan])
        np.testing.assert_allclose(means(values), [0.1, 3, np.nan], rtol=1e-15)


def test_threads_change_no_p_and_no_more_than_the_last_digit():
    values, weights, flips = skewed(200, 300), bootstrap_weights(200, 1000, 0), sign_flips(200, 1000, 0)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append((sign_flip_p(values, flips), max_t_p(values, flips), *mean_interval(values, weights)))
    for one, other in zip(results[0][:2], results[1][:2], strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(results[0][2:], results[1][2:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
