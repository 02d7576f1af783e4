"""Lengths, directions and the mean cosine of pairs."""

import numpy as np
import pytest

from homogenization.metrics.cosines import norms, unit_rows
from homogenization.metrics.geometry import TokenMatrix, cosine_anisotropy


def test_scale_is_ignored():
    tokens = np.random.default_rng(2).standard_normal((50, 6)).astype(np.float32)
    np.testing.assert_allclose(unit_rows(tokens * 1000), unit_rows(tokens), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(unit_rows(tokens), axis=1), 1, rtol=1e-6)
    assert not unit_rows(np.zeros((2, 3))).any()


def test_norms_are_float64_and_do_not_overflow():
    tokens = np.full((2, 4), 1e30, dtype=np.float32)
    assert norms(tokens).dtype == np.float64
    np.testing.assert_allclose(norms(tokens), 2e30, rtol=1e-6)


def test_the_mean_cosine_is_that_of_all_pairs():
    tokens = np.random.default_rng(3).standard_normal((30, 6)) * 10.0 ** np.arange(-15, 15)[:, None] + 1e-3
    tokens[4] = 0
    units = unit_rows(tokens)
    above = np.triu_indices(30, k=1)
    assert cosine_anisotropy(TokenMatrix(tokens)) == pytest.approx((units @ units.T)[above].mean(), rel=1e-12)
    for few in (tokens[:1], tokens[:0]):
        assert np.isnan(cosine_anisotropy(TokenMatrix(few)))
