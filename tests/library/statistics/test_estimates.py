"""The verdict on a difference in the words of its metric, and the test that stands beside its mean."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.statistics.estimates import estimates, judged, signed_ranks
from homogenization.statistics.resampling import Resampling
from library.statistics.shared import MARGIN
from library.statistics.simulated import skewed, with_gaps


@pytest.mark.parametrize(
    ("metric", "below", "above"),
    [
        ("normalized_effective_rank", "more alike", "less alike"),
        ("cosine_anisotropy", "less alike", "more alike"),
        ("cosine_to_first_token", "lower", "higher"),
        ("kl", "lower", "higher"),
    ],
)
def test_a_decided_difference_is_said_in_the_words_of_its_metric(metric, below, above):
    values = np.linspace([-1.2, 0.8, -0.01, -1.0], [-0.8, 1.2, 0.01, 1.0], 20)
    table = estimates(values, 0.95) | {"metric": metric, "yardstick": 1.0}
    said = judged(pl.DataFrame(table), Resampling(100, 0.95, 0, MARGIN))["verdict"]
    assert said.to_list() == [below, above, "negligible", "undecided"]


def test_negligible_needs_the_99_percent_interval_and_16_reviews():
    """The margin lies between the ends of the 95 % and the 99 % interval, and just beyond that."""
    z = stats.norm.ppf((np.arange(1, 17) - 0.5) / 16)
    reach = stats.t.ppf(0.995, 15) * stats.sem(z)
    table = pl.DataFrame(estimates(np.column_stack([z, z, z]), 0.95)).with_columns(
        yardstick=np.array([0.99, 1.01, 1.01]) * reach / MARGIN, n_reviews=pl.Series([16, 16, 15]), metric=pl.lit("kl")
    )
    said = judged(table, Resampling(100, 0.95, 0, MARGIN))["verdict"]
    assert said.to_list() == ["undecided", "negligible", "undecided"]


def test_nothing_is_decided_where_one_review_decides():
    values = np.ones((20, 1))
    values[0] = 9
    table = pl.DataFrame(estimates(values, 0.95) | {"metric": "kl", "yardstick": 1.0, "p_max_t": 1e-3})
    assert judged(table, Resampling(100, 0.95, 0, MARGIN)).select("verdict", "reason").row(0) == (
        "undecided",
        "one review decides",
    )


def test_signed_ranks_are_those_of_scipy_without_zeros_and_missing_values():
    values = with_gaps(skewed(20, 5))
    values[:3, 1], values[:, 2], values[:, 3] = 0, 0, np.nan
    p = signed_ranks(values)
    for cell in (0, 1, 4):
        there = values[~np.isnan(values[:, cell]), cell]
        assert p[cell] == pytest.approx(stats.wilcoxon(there[there != 0], method="asymptotic").pvalue)
    assert np.isnan(p[2:4]).all()
