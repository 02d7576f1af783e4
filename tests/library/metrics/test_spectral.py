import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate

NAMES = set(SPECTRAL_METRICS)


def batch(*spectra):
    return SpectrumBatch.from_flat(
        np.concatenate([np.empty(0), *map(np.asarray, spectra)]), np.array([len(s) for s in spectra])
    )


def metric(name, *spectra):
    values = evaluate(name, batch(*spectra))
    return values[0] if len(spectra) == 1 else values


def spectrum(matrix):
    return np.linalg.svd(matrix, compute_uv=False)


@pytest.mark.parametrize("n", [2, 7, 50])
def test_orthonormal_rows(n):
    values = spectrum(np.linalg.qr(np.random.default_rng(0).standard_normal((60, n)))[0].T)
    expected = {
        "effective_rank": n,
        "normalized_effective_rank": 1,
        "max_explainable_variance": 1 / n,
        "schatten_1": n,
        "schatten_2": math.sqrt(n),
        "schatten_inf": 1,
        "schatten_1_ratio": math.sqrt(n),
        "participation_ratio": n,
    }
    assert set(expected) == NAMES
    for name, value in expected.items():
        assert metric(name, values) == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("values", [[], [0.0], [0.0, 0.0, 0.0]])
def test_nothing_to_measure_is_nan(values):
    for name in NAMES:
        assert math.isnan(metric(name, values)), name
        assert evaluate(name, batch()).shape == (0,)
        # and does not spoil its neighbours
        assert metric(name, values, [2.0, 1.0])[1] == pytest.approx(metric(name, [2.0, 1.0]))


@given(values=arrays(np.float64, st.integers(1, 30), elements=st.floats(1e-2, 1e3)), scale=st.floats(1e-150, 1e150))
@settings(deadline=None)
def test_bounds_and_scale(values, scale):
    values = np.sort(values)[::-1]
    n = len(values)
    slack = 1 + 1e-9
    assert metric("schatten_1_ratio", values) * slack >= 1
    assert metric("schatten_1_ratio", values) <= math.sqrt(n) * slack
    # Renyi entropies fall with their order, and flattening q to p raises them
    ordered = [n, *(metric(name, values) for name in ("effective_rank", "participation_ratio")), 1]
    assert all(larger * slack >= smaller for larger, smaller in pairwise(ordered))
    for name, described in SPECTRAL_METRICS.items():
        value = metric(name, values)
        low, high = described.bounds
        if not math.isnan(value):
            assert low is None or value >= low - 1e-9, name
            assert high is None or value <= high + 1e-9, name
    for name in NAMES:
        scaled = scale if name in {"schatten_1", "schatten_2", "schatten_inf"} else 1
        np.testing.assert_allclose(metric(name, values * scale) / scaled, metric(name, values), rtol=1e-9, atol=1e-12)
