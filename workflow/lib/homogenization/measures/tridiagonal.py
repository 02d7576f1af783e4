"""Token matrices in tridiagonal form: brought to it once for two views, that of all tokens and that without the first.

The reduction keeps the first basis vector. If that is the first token, the form without its first row and column
belongs to the view without the first token.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, lapack

from homogenization.measures.views import Look, TokenGram


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
        if info != 0:
            raise np.linalg.LinAlgError(f"dsterf left {info} eigenvalues unconverged")
        return eigenvalues

    def largest_eigenvalue(self) -> float:
        """The largest eigenvalue, by bisection; NaN of an empty matrix. It is several times faster than all."""
        m = len(self.diagonal)
        if m < 2:
            return self.diagonal[0] if m else np.nan
        return eigvalsh_tridiagonal(*self, select="i", select_range=(m - 1, m - 1), check_finite=False)[0]


def tridiagonal_forms(look: Look, tokens: np.ndarray, gram: TokenGram) -> tuple[Tridiagonal, Tridiagonal]:
    """Tridiagonal forms with the squared singular values of a look's rows.

    Args:
        look: a look that has `nested` rows.
        tokens: (n, d) float64, n >= 1.
        gram: the inner products of `tokens`.

    Returns:
        The form of all tokens and that without the first, with min(n', d) eigenvalues, n' the rows of the view.
    """
    n, width = tokens.shape
    if n <= width:
        if look.gram is not None:
            products = look.gram(gram)
        else:
            rows = look.nested(tokens)
            products = rows @ rows.T
        form = _reduced(products)
        return form, Tridiagonal(form.diagonal[1:], form.beside[1:])
    rows = look.nested(tokens)
    first, rest = rows[0], rows[1:]
    # in a basis whose first vector points along the first token, that token adds to a single element
    form = _reduced(_reflected(rest.T @ rest, first))
    along_first = np.zeros(width)
    along_first[0] = first @ first
    return Tridiagonal(form.diagonal + along_first, form.beside), form


def _reduced(symmetric: np.ndarray) -> Tridiagonal:
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


def _reflected(symmetric: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """R S R with the reflection R that swaps the first basis vector and the line of `direction`."""
    norm = np.sqrt(direction @ direction)
    if norm == 0:
        return symmetric
    normal = direction / norm
    normal[0] += np.copysign(1.0, normal[0])  # the sign that does not cancel
    normal *= np.sqrt(2 / (normal @ normal))  # R = 1 - normal normal'
    image = symmetric @ normal
    image -= (normal @ image / 2) * normal
    crossed = np.outer(normal, image)
    return symmetric - crossed - crossed.T
