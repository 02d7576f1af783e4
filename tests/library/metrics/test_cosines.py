"""Lengths, directions and cosines, as arrays of numpy and as tensors of torch."""

import numpy as np
import pytest
import torch

from homogenization.metrics.cosines import mean_cosine, norms, unit_rows

KINDS = pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])


@KINDS
def test_scale_is_ignored(kind):
    tokens = kind(np.random.default_rng(2).standard_normal((50, 6)).astype(np.float32))
    np.testing.assert_allclose(unit_rows(tokens * 1000), unit_rows(tokens), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(unit_rows(tokens), axis=1), 1, rtol=1e-6)
    assert not unit_rows(kind(np.zeros((2, 3)))).any()


def test_norms_are_float64_and_do_not_overflow():
    tokens = np.full((2, 4), 1e30, dtype=np.float32)
    assert norms(tokens).dtype == np.float64
    np.testing.assert_allclose(norms(tokens), 2e30, rtol=1e-6)


@KINDS
def test_the_mean_cosine_is_that_of_all_pairs(kind):
    tokens = np.random.default_rng(3).standard_normal((30, 6)) * 10.0 ** np.arange(-15, 15)[:, None] + 1e-3
    tokens[4] = 0
    units = unit_rows(tokens)
    above = np.triu_indices(30, k=1)
    assert float(mean_cosine(kind(tokens))) == pytest.approx((units @ units.T)[above].mean(), rel=1e-12)
    assert np.isnan(float(mean_cosine(kind(tokens[:1]))))
    assert np.isnan(float(mean_cosine(kind(tokens[:0]))))
