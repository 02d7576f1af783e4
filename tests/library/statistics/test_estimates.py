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
    table = estimates(values, 0.95) | {"metric": metric, "depth_range": 1.0, "review_sd": 0.0}
    said = judged(pl.DataFrame(table), Resampling(100, 0.95, 0, MARGIN))["verdict"]
    assert said.to_list() == [below, above, "negligible", "undecided"]


def test_signed_ranks_are_those_of_scipy_without_zeros_and_missing_values():
    values = with_gaps(skewed(20, 5))
    values[:3, 1], values[:, 2], values[:, 3] = 0, 0, np.nan
    p = signed_ranks(values)
    for cell in (0, 1, 4):
        there = values[~np.isnan(values[:, cell]), cell]
        assert p[cell] == pytest.approx(stats.wilcoxon(there[there != 0], method="asymptotic").pvalue)
    assert np.isnan(p[2:4]).all()
