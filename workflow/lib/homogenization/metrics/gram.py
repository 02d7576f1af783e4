"""Eigenvalues of Gram matrices through their tridiagonal form, and the singular values that follow from them.

The form keeps the first basis vector: a large first row stays first, apart from the small rows, so that their
eigenvalues keep their precision; and the form without its first row and column belongs to the matrix without them. It
is a module of its own so that a new metric in `spectral` leaves the spectra as they are.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack

# Eigenvalues below this share of the largest count as 0. Equal rows (a word that comes twice, at layer 0) make exact
# zeros, which rounding turns into up to 4.4 eps (measured up to 3,000 x 3,500); their square roots, 1e-8 of the
# largest, would add up.
ZERO_SHARE = 8 * np.finfo(np.float64).eps


class Tridiagonal(NamedTuple):
    """A symmetric tridiagonal matrix, (m, m) with m >= 0.

    Attributes:
        diagonal: (m,) float64.
        beside: (m - 1,) float64 elements next to the diagonal.
    """

    diagonal: np.ndarray
    beside: np.ndarray

    def eigenvalues(self) -> np.ndarray:
        """(m,) ascending eigenvalues, by QR or, where that stops without a result, by bisection."""
        if len(self.diagonal) < 2:
            return self.diagonal
        eigenvalues, info = lapack.dsterf(self.diagonal, self.beside)
        return eigenvalues if info == 0 else eigvalsh_tridiagonal(*self, lapack_driver="stebz")

    def largest(self) -> float:
        """The largest eigenvalue, m >= 1, by bisection or, where that stops without a result, by QR."""
        last = len(self.diagonal) - 1
        try:
            return eigvalsh_tridiagonal(*self, select="i", select_range=(last, last), lapack_driver="stebz")[0]
        except (LinAlgError, IndexError):
            return self.eigenvalues()[-1]


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


def roots_of(eigenvalues: np.ndarray) -> np.ndarray:
    """Singular values, descending, of the ascending eigenvalues of a Gram matrix, (k,) float64, k >= 0."""
    if eigenvalues.size == 0:
        return eigenvalues
    descending = eigenvalues[::-1]
    return np.sqrt(np.where(descending < ZERO_SHARE * descending[0], 0.0, descending.clip(min=0.0)))
