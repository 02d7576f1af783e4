"""Eigenvalues of symmetric matrices through their tridiagonal form, which keeps the first basis vector.

A large first row stays first, apart from the small rows, so that their eigenvalues keep their precision; and the form
without its first row and column belongs to the matrix without them.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, lapack


class Tridiagonal(NamedTuple):
    """A symmetric tridiagonal matrix, (m, m) with m >= 0.

    Attributes:
        diagonal: (m,) float64.
        beside: (m - 1,) float64 elements beside the diagonal.
    """

    diagonal: np.ndarray
    beside: np.ndarray

    def eigenvalues(self) -> np.ndarray:
        """(m,) ascending eigenvalues, by QR or, where that stops without a result, by bisection."""
        if len(self.diagonal) < 2:
            return self.diagonal
        eigenvalues, info = lapack.dsterf(self.diagonal, self.beside)
        return eigenvalues if info == 0 else eigvalsh_tridiagonal(*self, lapack_driver="stebz")


def reduced(symmetric: np.ndarray) -> Tridiagonal:
    """The tridiagonal form of (n, n), n >= 1, that keeps the first basis vector."""
    n = len(symmetric)
    if n == 1:
        return Tridiagonal(symmetric[0], np.empty(0))
    lwork, _ = lapack.dsytrd_lwork(n, lower=1)
    _, diagonal, beside, _, info = lapack.dsytrd(symmetric, lower=1, lwork=int(lwork))
    assert info == 0
    return Tridiagonal(diagonal, beside)


def symmetric_eigenvalues(symmetric: np.ndarray) -> np.ndarray:
    """(n,) ascending eigenvalues of (n, n) float64, n >= 1."""
    return reduced(symmetric).eigenvalues()
