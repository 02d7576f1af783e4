"""Lengths and directions."""

import numpy as np

from homogenization.metrics.cosines import norms, unit_rows


def test_norms_are_float64_and_do_not_overflow_and_directions_know_no_scale():
    tokens = np.random.default_rng(2).standard_normal((50, 6)).astype(np.float32)
    for scale in (1e-30, 1.0, 1e30):
        assert norms(tokens * np.float32(scale)).dtype == np.float64
        np.testing.assert_allclose(norms(tokens * np.float32(scale)), scale * norms(tokens), rtol=1e-6)
        np.testing.assert_allclose(unit_rows(tokens * np.float32(scale)), unit_rows(tokens), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(unit_rows(tokens), axis=1), 1, rtol=1e-6)
    assert not unit_rows(np.zeros((2, 3))).any()
