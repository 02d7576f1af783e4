"""What the metrics answer to: the matrices, the responses, and what is known of the metrics."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from benchmark_sensitivity import CAUSES, metric_values, responses
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS

N, WIDTH, SEEDS = 128, 256, 4
OF_TOKENS = {name: metric for name, metric in GEOMETRY_METRICS.items() if name != "neighbourhood_overlap"}  # of layers
METRICS = [*SPECTRAL_METRICS.values(), *OF_TOKENS.values()]


@cache
def values():
    return metric_values(N, WIDTH, range(SEEDS))


@pytest.mark.parametrize(
    ("base", "collapsed", "cone", "found"),
    [
        ([9.0, 10.0, 11.0], [1.0, 2.0, 3.0], [11.0, 12.0, 13.0], (1, -0.25)),
        ([10.0] * 3, [0.0, 10.0, 2.0], [10.0] * 3, (np.nan, np.nan)),  # the spread of the collapse counts too
    ],
)
def test_a_response_is_a_share_of_the_move_under_a_collapse(base, collapsed, cone, found):
    by_cause = {None: base, **dict.fromkeys(CAUSES, base), "collapse": collapsed, "cone": cone}
    rows = [("m", "v", cause, seed, value) for cause, of in by_cause.items() for seed, value in enumerate(of)]
    row = responses(pl.DataFrame(rows, ["metric", "view", "cause", "seed", "value"], orient="row")).row(0, named=True)
    np.testing.assert_allclose([row["collapse"], row["cone"]], found)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_moves_as_its_registration_says(metric):
    view = metric.views[0] if metric.views else "unit"
    rows = values().filter(metric=metric.name, view=view).group_by("cause").agg(pl.col("value").mean())
    means = dict(rows.iter_rows())
    if metric.homogenization:
        assert np.sign(means["collapse"] - means[None]) == metric.homogenization
    assert bool(means[None] > 1.1 * means["fewer_tokens"]) == metric.extensive
