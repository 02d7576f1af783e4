"""Singular values of every view against a float64 SVD of its rows, and what precision metrics keep."""

import numpy as np
import pytest
from hypothesis import given

from homogenization.measures.spectra import singular_values
from homogenization.measures.views import VIEWS, view_rows
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from measured import degenerate_tokens


def every_metric(values):
    batch = SpectrumBatch.from_flat(values, np.array([len(values)]))
    return {name: evaluate(name, batch)[0] for name in SPECTRAL_METRICS}


def by_svd(view, tokens):
    """Singular values of the view's rows by definition, without the last one of centred rows, which is 0."""
    rows = view_rows(view, tokens)
    return np.linalg.svd(rows, compute_uv=False)[: len(rows) - (view.startswith("centred") and len(rows) > 0)]


def assert_metrics_equal_svd(tokens, tolerance):
    """Every metric of every view."""
    spectra = singular_values(tokens, VIEWS)
    for view in VIEWS:
        expected = by_svd(view, tokens)
        assert spectra[view].shape == expected.shape
        ours, reference = every_metric(spectra[view]), every_metric(expected)
        for name in SPECTRAL_METRICS:
            assert ours[name] == pytest.approx(reference[name], rel=tolerance, nan_ok=True), (view, name)


def gaussian(n, width, seed=0):
    return np.random.default_rng(seed).standard_normal((n, width))


def decaying(n, width):
    """Like hidden states: row and column directions of very different size."""
    return gaussian(n, width) * np.arange(1, width + 1) ** -0.75


def massive(tokens, place, times):
    """The tokens, of which one is so many times as long."""
    return tokens * np.where(np.arange(len(tokens)) == place, times, 1)[:, None]


def bfloat16(values):
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x8000) & 0xFFFF0000).astype(np.uint32).view(np.float32)


HARD = {  # tokens, and the precision that their metrics have
    "gaussian": (gaussian, 1e-12),
    "decaying": (decaying, 1e-12),
    "a first token of 100": (lambda n, width: massive(decaying(n, width), 0, 1e2), 1e-10),
    "a first token of 1,000": (lambda n, width: massive(decaying(n, width), 0, 1e3), 1e-8),
    "a first token of 10,000": (lambda n, width: massive(decaying(n, width), 0, 1e4), 1e-6),
    "a token of 1,000 in the middle": (lambda n, width: massive(decaying(n, width), n // 2, 1e3), 1e-8),
    "bfloat16": (lambda n, width: massive(bfloat16(decaying(n, width)), 0, 1024), 1e-8),
    "repeated rows": (lambda n, w: gaussian(n, w)[np.random.default_rng(1).integers(0, n // 3, n)], 1e-12),
    "a mean of 100": (lambda n, width: gaussian(n, width) + 100 * gaussian(1, width, seed=2), 1e-9),
}


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (80, 80)])
@pytest.mark.parametrize("kind", HARD)
def test_tokens_on_which_precision_is_lost(shape, kind):
    make, tolerance = HARD[kind]
    tokens = make(*shape).astype(np.float32)
    assert_metrics_equal_svd(tokens, tolerance)
    n_distinct = len(np.unique(tokens, axis=0))
    assert np.count_nonzero(singular_values(tokens, ["raw"])["raw"]) == min(n_distinct, shape[1])


@given(tokens=degenerate_tokens())
def test_degenerate_reviews_have_the_singular_values_of_an_svd_and_metrics_within_their_bounds(tokens):
    spectra = singular_values(tokens, VIEWS)
    for view in VIEWS:
        expected = by_svd(view, tokens)
        assert spectra[view].shape == expected.shape
        assert (np.diff(spectra[view]) <= 0).all()
        if not view.startswith("centred"):  # of equal rows, a mean leaves rounding
            np.testing.assert_allclose(spectra[view], expected, atol=5e-8 * expected.max(initial=0))
        for name, value in every_metric(spectra[view]).items() if expected.size else ():
            low, high = SPECTRAL_METRICS[name].bounds
            assert np.isfinite(value) == spectra[view].any(), (view, name)
            assert not value < low - 1e-9, (view, name)
            assert high is None or not value > high + 1e-9, (view, name)
