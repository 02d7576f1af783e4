"""Robust estimates against brute force and scipy, and verdicts of simulated studies whose differences are skewed."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from homogenization.statistics.estimates import estimates, hodges_lehmann, judged, trimmed_mean
from homogenization.statistics.resampling import Resampling, flip_p
from library.statistics.shared import MARGIN
from library.statistics.simulated import assert_rate

VALUES = st.lists(st.integers(-50, 50), min_size=1, max_size=40).map(lambda given: np.array(given, dtype=float))


def column(estimates):
    return [float(part[0]) for part in estimates]


class TestHodgesLehmann:
    @given(VALUES)
    def test_is_the_median_of_all_averages(self, values):
        averages = [(a + b) / 2 for number, a in enumerate(values) for b in values[number:]]
        assert column(hodges_lehmann(values[:, None], 0.95))[0] == pytest.approx(np.median(averages))

    @pytest.mark.parametrize("n", [6, 9, 25, 60, 61, 90])
    def test_its_interval_holds_what_the_signed_rank_test_does_not_reject(self, n):
        values = np.random.default_rng(n).normal(0.3, 1, n)
        _, low, high = column(hodges_lehmann(values[:, None], 0.95))
        method = "exact" if n <= 60 else "asymptotic"

        def p(centre):
            return stats.wilcoxon(values - centre, method=method, correction=True).pvalue

        step = 1e-9
        assert p(low - step) <= 0.05 < p(low + step)
        assert p(high + step) <= 0.05 < p(high - step)

    def test_five_values_have_no_interval_at_95_percent(self):
        _, low, high = column(hodges_lehmann(np.arange(5.0)[:, None], 0.95))
        assert np.isnan([low, high]).all()
        assert column(hodges_lehmann(np.full((3, 1), np.nan), 0.95)) == pytest.approx([np.nan] * 3, nan_ok=True)

    @given(VALUES, st.integers(-20, 20), st.sampled_from([-4.0, 0.5, 2.0]))
    def test_moves_and_stretches_with_the_values(self, values, shift, factor):
        own = column(hodges_lehmann(values[:, None], 0.95))
        other = column(hodges_lehmann(factor * values[:, None] + shift, 0.95))
        expected = [own[0], *(own[1:] if factor > 0 else own[:0:-1])]
        assert other == pytest.approx([factor * value + shift for value in expected], nan_ok=True)


class TestTrimmedMean:
    @given(VALUES)
    def test_by_definition(self, values):
        """The mean of what stays, with the variance of the winsorised values (Yuen 1974)."""
        n, cut = len(values), -(-len(values) // 20)
        kept = n - 2 * cut
        estimate, low, high = column(trimmed_mean(values[:, None], 0.9))
        if kept < 1:
            assert np.isnan([estimate, low, high]).all()
            return
        assert estimate == pytest.approx(np.sort(values)[cut : n - cut].mean())
        if kept > 1:
            winsorised = np.asarray(stats.mstats.winsorize(values, limits=(cut / n + 1e-9, cut / n + 1e-9)))
            error = np.sqrt((n - 1) * winsorised.var(ddof=1) / (kept * (kept - 1)))
            reach = stats.t.ppf(0.95, kept - 1) * error
            assert (low, high) == pytest.approx((estimate - reach, estimate + reach))

    def test_missing_values_neither_count_nor_stay(self):
        values = np.concatenate([np.arange(20.0), [500.0]])
        missing = np.concatenate([values[:4], [np.nan] * 7, values[4:]])
        found, with_missing = (column(trimmed_mean(v[:, None], 0.95)) for v in (values, missing))
        assert found == with_missing
        assert found[0] == pytest.approx(np.arange(2.0, 19).mean())  # 5 % of 21 are two

    @pytest.mark.parametrize("n", [16, 60])
    def test_its_interval_covers_the_trimmed_mean_of_a_symmetric_distribution(self, n):
        values = np.random.default_rng(n).standard_t(3, (n, 4000))
        _, low, high = trimmed_mean(values, 0.95)
        assert_rate(f"coverage of trimmed means, {n} values", (low <= 0) & (high >= 0), 0.95, slack=0.01)


N_REVIEWS, STUDIES = 100, 300
SIZE = (N_REVIEWS, STUDIES)


def normal(generator, mean=0.0, spread=1.0):
    return generator.normal(mean, spread, SIZE)


def skewed(generator, mean=0.0, spread=1.0):
    """A log-normal with a skewness of 6.2; with a negative spread, its long tail is on the left."""
    values = generator.lognormal(0, 1, SIZE)
    return mean + spread * (values - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def few(generator, mean=0.0, spread=1.0):
    """Four of a hundred reviews differ, the others do not."""
    return normal(generator, mean, spread) + 10 * (np.arange(N_REVIEWS)[:, None] < 4)


@pytest.mark.parametrize(
    ("metric", "below", "above"),
    [
        ("normalized_effective_rank", "more alike", "less alike"),
        ("cosine_anisotropy", "less alike", "more alike"),
        ("cosine_to_first_token", "lower", "higher"),
        ("n_tokens", "lower", "higher"),
        ("kl", "lower", "higher"),
    ],
)
def test_a_decided_difference_is_said_in_the_words_of_its_metric(metric, below, above):
    values = np.linspace([-1.2, 0.8, -0.01, -1.0], [-0.8, 1.2, 0.01, 1.0], 20)
    table = estimates(values, 0.95) | {"metric": metric, "depth_range": 1.0, "review_sd": 0.0}
    said = judged(pl.DataFrame(table), Resampling(100, 0.95, 0, MARGIN))["verdict"]
    assert said.to_list() == [below, above, "negligible", "undecided"]


def verdicts(draw, depth_range=1e-3, **of_draw):
    """A row for each simulated study, a family of its own: `verdict`, `fragile`."""
    differences, resampling = draw(np.random.default_rng(0), **of_draw), Resampling(1000, 0.95, 0, MARGIN)
    p = flip_p(differences, resampling.sign_flips(N_REVIEWS))[0]
    told = {"metric": "n_tokens", "p_max_t": p, "depth_range": depth_range, "review_sd": 0.0}
    return judged(pl.DataFrame(estimates(differences, 0.95) | told), resampling)


def significant(table):
    return table.filter(pl.col("verdict").is_in(["higher", "lower"]))


class TestVerdictsOfSkewedDifferences:
    @pytest.mark.parametrize(("draw", "least", "most"), [(normal, 0.02, 0.08), (skewed, 0.0, 0.07)])
    def test_without_an_effect_few_studies_find_one(self, draw, least, most):
        assert least <= len(significant(verdicts(draw))) / STUDIES <= most

    def test_what_few_reviews_carry_is_fragile(self):
        found = significant(verdicts(few))
        assert len(found) > 0.2 * STUDIES
        assert found["fragile"].mean() > 0.65

    @pytest.mark.parametrize("draw", [normal, skewed])
    def test_what_all_reviews_carry_is_not(self, draw):
        found = significant(verdicts(draw, mean=0.4))
        assert len(found) > 0.9 * STUDIES
        assert found["fragile"].mean() < 0.1

    @pytest.mark.parametrize(("draw", "spread"), [(normal, 0.3), (skewed, 0.3), (skewed, -0.3)])
    def test_a_difference_as_large_as_the_margin_is_seldom_negligible(self, draw, spread):
        found = verdicts(draw, depth_range=10.0, mean=0.2, spread=spread)
        assert (found["verdict"] == "negligible").mean() < 0.06

    def test_a_significant_difference_within_the_margin_is_negligible(self):
        found = verdicts(normal, depth_range=10.0, mean=0.1, spread=0.2)
        assert (found["p_max_t"] < 0.05).mean() > 0.95
        assert (found["verdict"] == "negligible").mean() > 0.95
        assert found["relative_effect"].mean() == pytest.approx(0.01, rel=0.05)
