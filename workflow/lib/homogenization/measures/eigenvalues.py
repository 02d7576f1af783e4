"""Eigenvalues of symmetric matrices through their tridiagonal form, from solvers that always give a result.

LAPACK's solvers can stop without one: some builds of stebz find none where all eigenvalues are equal. Bisection by
counts, which takes a fixed number of steps, then takes their place.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, lapack

_HALVINGS = 53  # of an interval of length 2
_TINY = np.finfo(np.float64).tiny


class Tridiagonal(NamedTuple):
    """A symmetric tridiagonal matrix, (m, m) with m >= 0.

    Attributes:
        diagonal: (m,) float64.
        beside: (m - 1,) float64 elements beside the diagonal.
    """

    diagonal: np.ndarray
    beside: np.ndarray

    def eigenvalues(self) -> np.ndarray:
        """(m,) ascending eigenvalues."""
        if len(self.diagonal) < 2:
            return self.diagonal
        eigenvalues, info = lapack.dsterf(self.diagonal, self.beside)
        return eigenvalues if info == 0 else self.bisected(range(len(self.diagonal)))

    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue, by bisection; NaN of an empty matrix. It is several times faster than all."""
        m = len(self.diagonal)
        if m < 2:
            return self.diagonal[0] if m else np.nan
        try:
            return eigvalsh_tridiagonal(*self, select="i", select_range=(m - 1, m - 1), check_finite=False)[0]
        except np.linalg.LinAlgError:
            return self.bisected([m - 1])[0]

    def bisected(self, places: Sequence[int]) -> np.ndarray:
        """The eigenvalues at `places`, counted from 0 in ascending order, within 2 eps of the largest in size.

        As many eigenvalues lie below x as there are negative pivots in the elimination of T - x (Sturm; Golub and
        Van Loan 2013, section 8.4). Halving the interval around each place until it is that narrow can't fail.
        """
        off = np.abs(self.beside)
        scale = (np.abs(self.diagonal) + np.append(off, 0) + np.append(0, off)).max()  # no eigenvalue is larger
        if scale == 0:
            return np.zeros(len(places))
        diagonal, squares = self.diagonal / scale, np.append(0, (self.beside / scale) ** 2)
        low, high = np.full(len(places), -1.0), np.full(len(places), 1.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            pivot, n_below = np.ones_like(middle), np.zeros(len(places), dtype=int)
            for element, square in zip(diagonal, squares, strict=True):
                pivot = element - middle - square / pivot
                pivot = np.where(np.abs(pivot) < _TINY, -_TINY, pivot)
                n_below += pivot < 0
            too_high = n_below > np.asarray(places)
            low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
        return (low + high) / 2 * scale


def reduced(symmetric: np.ndarray) -> Tridiagonal:
    """The tridiagonal form of (n, n) that keeps the first basis vector.

    A large first row stays first, apart from the small rows, so that their eigenvalues keep their precision.
    """
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
