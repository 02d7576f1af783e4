"""Singular values of token matrices through float64 Gram matrices, several times faster than an SVD.

The squared singular values of the rows are the eigenvalues of rows @ rows.T, or of rows.T @ rows, whichever is
smaller. In float64 the metrics keep 1e-12 of their value, and 1e-9 where one token is 10^3 times as long as the others;
in float32 a Gram matrix would be wrong as soon as one direction is 10^3 times the rest.
"""

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from homogenization.measures.views import look_of, view_rows
from homogenization.metrics.cosines import ZERO_SHARE
from homogenization.metrics.geometry import TokenMatrix


def singular_values(tokens: np.ndarray, views: Sequence[str]) -> dict[str, np.ndarray]:
    """Singular values of one review's token matrix in each view.

    Args:
        tokens: (n, d), n >= 1, any float type; finite. All arithmetic is float64.
        views: names of `homogenization.measures.views.VIEWS`.

    Returns:
        By view, in the order of `views`: float64, descending and not negative, as many as the largest rank that the
        view can have: min(n', d), and min(n' - 1, d) where it is centred, n' the view's number of rows, n, or n - 1
        without the first token. It is empty where that is 0. Values whose square is less than 8 eps of the largest
        square are exactly 0.
    """
    return spectra_of(TokenMatrix(np.asarray(tokens, dtype=np.float64)), views)


def spectra_of(tokens: TokenMatrix, views: Sequence[str]) -> dict[str, np.ndarray]:
    """`singular_values` of one review's tokens."""
    spectra = {}
    for view in views:
        look, without_first = look_of(view)
        n, width = len(tokens.rows) - without_first, tokens.rows.shape[1]
        if look.gram is not None and n < width:
            gram = look.gram(tokens)[int(without_first) :, int(without_first) :]
        else:
            rows = view_rows(view, tokens.rows)
            gram = rows @ rows.T if n <= width else rows.T @ rows
        spectra[view] = roots_of(gram, look.largest_rank(n, width))
    return spectra


def roots_of(gram: np.ndarray, rank: int) -> np.ndarray:
    """(rank,) square roots of the largest eigenvalues of a Gram matrix, descending."""
    if rank == 0:
        return np.empty(0)
    try:
        ascending = np.linalg.eigvalsh(gram)
    except np.linalg.LinAlgError:  # QL does not converge; bisection always does
        ascending = scipy.linalg.eigvalsh(gram, driver="evx")
    squares = ascending[::-1][:rank]
    return np.sqrt(np.where(squares < ZERO_SHARE * squares[0], 0.0, squares.clip(min=0)))
