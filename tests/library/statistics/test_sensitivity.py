"""What the metrics answer to is what is registered of them."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from benchmark_sensitivity import metric_values
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS

N, WIDTH, SEEDS = 128, 256, 4
OF_TOKENS = {name: metric for name, metric in GEOMETRY_METRICS.items() if name != "neighbourhood_overlap"}  # of layers
METRICS = [*SPECTRAL_METRICS.values(), *OF_TOKENS.values()]


@cache
def values():
    return metric_values(N, WIDTH, range(SEEDS))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_moves_as_its_registration_says(metric):
    view = metric.views[0] if metric.views else "unit"
    rows = values().filter(metric=metric.name, view=view).group_by("cause").agg(pl.col("value").mean())
    means = dict(rows.iter_rows())
    if metric.homogenization:
        assert np.sign(means["collapse"] - means[None]) == metric.homogenization
    assert bool(means[None] > 1.1 * means["fewer_tokens"]) == metric.extensive
