"""The estimator against scipy and a plain permutation test, its invariants, and rates that are known."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings, estimate

SETTINGS = Settings(draws=2000, confidence=0.95, seed=0, margin=0.02)
NUMBERS = ("mean", "ci_low", "ci_high", "median", "p_wilcoxon", "p_max_t")


def cells_of(values, metric="kl", **more):
    return pl.DataFrame({"metric": [metric] * values.shape[1], **more}, strict=False)


def estimated(values, metric="kl", yardstick=1.0, family=(), settings=SETTINGS, **more):
    return estimate(cells_of(values, metric, yardstick=yardstick, **more), values, settings, family)


def skewed(n, cells, seed=0):
    return np.random.default_rng(seed).exponential(size=(n, cells)) - 0.3


def with_gaps(values, seed=1):
    return np.where(np.random.default_rng(seed).random(values.shape) < 0.2, np.nan, values)


def hall(sample):
    """|t| of the mean after Hall's transformation, by scipy's moments; none where nothing varies."""
    n = len(sample)
    if np.ptp(sample) == 0:
        return 0.0 if sample[0] == 0 else np.inf
    t, skewness = stats.ttest_1samp(sample, 0).statistic, stats.skew(sample)
    return abs(t + skewness * t**2 / (3 * n**0.5) + skewness**2 * t**3 / (27 * n) + skewness / (6 * n**0.5))


def plain_max_t(values):
    """Step-down max-T over all sign flips, cell by cell."""
    flips = np.array(list(itertools.product((1, -1), repeat=len(values))))
    size = np.array([[hall(signs * column) for column in values.T] for signs in flips])
    order = np.argsort(-size[0])
    p, before = np.empty(len(order)), 0.0
    for place, cell in enumerate(order):
        p[cell] = before = max(before, np.mean(size[:, order[place:]].max(axis=1) >= size[0, cell] - 1e-9))
    return p


def test_every_number_is_that_of_scipy():
    values = with_gaps(skewed(20, 6))
    table = estimated(values)
    assert dict(table.schema) == {"metric": pl.String, **ESTIMATE_SCHEMA}
    for column, row in zip(values.T, table.iter_rows(named=True), strict=True):
        sample = column[~np.isnan(column)]
        interval = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
        wilcoxon = stats.wilcoxon(sample, method="asymptotic").pvalue
        expected = (sample.mean(), *interval, np.median(sample), wilcoxon)
        assert [row[name] for name in NUMBERS[:-1]] == pytest.approx(expected)
        assert row["n_reviews"] == len(sample)


def test_p_is_that_of_a_plain_permutation_test():
    values = skewed(7, 5, seed=2)  # 128 flips are fewer than the draws: both are exact
    table = estimated(values, family=["view"], view=list("aaabb"))
    expected = np.concatenate([plain_max_t(values[:, :3]), plain_max_t(values[:, 3:])])
    np.testing.assert_allclose(table["p_max_t"], expected)
    alone = estimated(values)["p_max_t"].to_numpy()
    np.testing.assert_allclose(alone, [plain_max_t(values[:, [cell]])[0] for cell in range(5)])
    assert (expected >= alone).all()


@given(st.integers(2, 25), st.floats(0.01, 100), st.randoms(use_true_random=False))
def test_scale_sign_and_order_do_not_matter(n, scale, random):
    values = skewed(n, 3, seed=random.randrange(100))
    one = estimated(values, family=["metric"])
    scaled = estimated(-scale * values, family=["metric"], yardstick=scale)
    np.testing.assert_allclose(one["mean"], -scaled["mean"] / scale)
    np.testing.assert_allclose(one["ci_low"], -scaled["ci_high"] / scale)
    np.testing.assert_allclose(one["p_max_t"], scaled["p_max_t"])
    turned = {"higher": "lower", "lower": "higher"}
    assert [turned.get(said, said) for said in scaled["verdict"]] == one["verdict"].to_list()
    cells = np.array([2, 0, 1])
    np.testing.assert_allclose(
        estimated(values[:, cells], family=["metric"])["p_max_t"], one["p_max_t"].to_numpy()[cells]
    )


def test_what_does_not_vary_and_what_is_not_there():
    values = np.column_stack([np.zeros(20), np.full(20, 0.3), np.full(20, np.nan)])
    values = np.column_stack([values, np.where(np.arange(20), np.nan, 5.0)])
    table = estimated(values)
    assert table["p_max_t"].to_list()[0] == 1
    assert table["p_max_t"][1] < 0.01
    assert table.select("ci_low", "ci_high").row(1) == pytest.approx((0.3, 0.3))
    assert np.isnan(table["p_wilcoxon"][0])
    assert table["n_reviews"].to_list() == [20, 20, 0, 1]
    assert np.isnan(table.select(NUMBERS).row(2)).all()
    assert table["mean"][3] == 5
    assert np.isnan(table.select("ci_low", "ci_high", "p_max_t").row(3)).all()
    assert table["verdict"].to_list() == ["negligible", "higher", "undecided", "undecided"]


@pytest.mark.parametrize(
    ("metric", "below", "above"),
    [
        ("normalized_effective_rank", "more alike", "less alike"),
        ("cosine_anisotropy", "less alike", "more alike"),
        ("cosine_to_first_token", "lower", "higher"),
        ("kl", "lower", "higher"),
    ],
)
def test_a_difference_is_said_in_the_words_of_its_metric(metric, below, above):
    values = np.linspace([-1.2, 0.8, -0.01, -1.0], [-0.8, 1.2, 0.01, 1.0], 20)
    assert estimated(values, metric)["verdict"].to_list() == [below, above, "negligible", "undecided"]


@pytest.mark.parametrize(
    ("n", "inside", "said"), [(16, 0.99, "undecided"), (16, 1.01, "negligible"), (15, 9, "undecided")]
)
def test_negligible_needs_the_99_percent_interval_and_16_units(n, inside, said):
    values = stats.norm.ppf((np.arange(1, n + 1) - 0.5) / n)[:, None]
    reach = stats.t.ppf(0.995, n - 1) * stats.sem(values[:, 0])
    assert estimated(values, yardstick=inside * reach / SETTINGS.margin)["verdict"].to_list() == [said]


@pytest.mark.parametrize(("n", "reason"), [(15, None), (16, "one review decides")])
def test_nothing_is_decided_where_one_unit_carries_half_of_the_variance(n, reason):
    values = 1 + 0.01 * np.arange(float(n))[:, None]
    values[0] = 3
    row = estimated(values).row(0, named=True)
    assert (row["reason"], row["verdict"]) == (reason, "undecided" if reason else "higher")
    assert row["p_max_t"] < 0.05


def test_what_is_not_tested_has_a_reason_and_no_test():
    both = skewed(20, 2)
    both[5:, 1] = np.nan
    table = estimate(cells_of(both), both, replace(SETTINGS, min_reviews=6))
    assert table["reason"].to_list() == [None, "5 reviews have a value; at least 6 are needed"]
    assert table.select(NUMBERS).fill_nan(None).null_count().row(0) == (1,) * len(NUMBERS)
    told = estimate(cells_of(both), both, SETTINGS, reason="too few of all")
    assert set(told["verdict"]) == {"not tested"}
    assert told.select(NUMBERS).unpivot()["value"].is_nan().all()
