"""Eigenvalues of tridiagonal and symmetric matrices, where LAPACK's first solver fails too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.metrics import gram
from homogenization.metrics.gram import Tridiagonal, symmetric_eigenvalues

NUMBERS = st.sampled_from([0.0, 1.0, 1 + 2**-52, -1.0, 2.0, 1e-8, 1e-160, 5e-324])


@given(diagonal=st.lists(NUMBERS, min_size=1, max_size=40), data=st.data(), scale=st.sampled_from([1.0, 1e-150, 1e150]))
def test_both_solvers_find_them(diagonal, data, scale):
    m = len(diagonal)
    beside = data.draw(st.one_of(st.just([0.0] * (m - 1)), st.lists(NUMBERS, min_size=m - 1, max_size=m - 1)))
    form = Tridiagonal(np.array(diagonal) * scale, np.array(beside) * scale)
    expected = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)) * scale
    # bisection squares the elements beside the diagonal
    precision = {"rtol": 0, "atol": 1e-14 * np.abs(expected).max() + np.finfo(np.float64).tiny ** 0.5}
    np.testing.assert_allclose(form.eigenvalues(), expected, **precision)
    np.testing.assert_allclose(form.largest(), expected[-1], **precision)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram.lapack, "dsterf", lambda diagonal, beside: (np.full_like(diagonal, np.nan), 3))
        np.testing.assert_allclose(form.eigenvalues(), expected, **precision)


def test_eigenvalues_in_closed_form():
    """2 on the diagonal and 1 beside it: 2 + 2 cos(k pi / (m + 1)), k = 1 to m."""
    form = Tridiagonal(np.full(50, 2.0), np.full(49, 1.0))
    expected = 2 + 2 * np.cos(np.arange(50, 0, -1) * np.pi / 51)
    np.testing.assert_allclose(form.eigenvalues(), expected, rtol=1e-12)


def test_those_of_a_full_matrix_are_numpys():
    rows = np.random.default_rng(0).standard_normal((70, 90))
    expected = np.linalg.eigvalsh(rows @ rows.T)
    np.testing.assert_allclose(symmetric_eigenvalues(rows @ rows.T), expected, rtol=0, atol=1e-14 * expected[-1])
