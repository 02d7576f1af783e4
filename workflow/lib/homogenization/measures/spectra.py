"""Singular values of token matrices through float64 Gram matrices, several times faster than an SVD.

The squared singular values of the rows are the eigenvalues of rows @ rows.T, or of rows.T @ rows, whichever is
smaller. In float64 the metrics keep 1e-12 of their value, and 1e-9 where one token is 10^3 times as long as the others;
in float32 a Gram matrix would be wrong as soon as one direction is 10^3 times the rest.

A Gram matrix is made tridiagonal, from its first row on, which leaves that row's direction as it is: so the band of a
view with all tokens, without its first entries, has the eigenvalues of the view without the first token.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import LinAlgError, eigvalsh_tridiagonal, lapack

from homogenization.measures.views import look_of, view_rows
from homogenization.metrics.cosines import ZERO_SHARE
from homogenization.metrics.geometry import TokenMatrix

Band = tuple[np.ndarray, np.ndarray]  # of a symmetric tridiagonal matrix: the diagonal (n,), and beside it (n - 1,)


def singular_values(tokens: np.ndarray, views: Sequence[str]) -> dict[str, np.ndarray]:
    """Singular values of one review's (n, d) finite tokens, n >= 1, in each of `views`, in float64.

    They are descending and not negative, and as many as the largest rank that the view can have: min(n', d), and
    min(n' - 1, d) where it is centred, of n' rows. Values whose square is less than 8 eps of the largest square are 0.
    """
    return spectra_of(TokenMatrix(np.asarray(tokens, dtype=np.float64)), views)


def spectra_of(tokens: TokenMatrix, views: Sequence[str]) -> dict[str, np.ndarray]:
    """`singular_values` of one review's tokens."""
    return {view: roots_of(band, rank) for view, band, rank in _bands(tokens, views)}


def first_shares(tokens: TokenMatrix, views: Sequence[str]) -> dict[str, float]:
    """σ₁² / Σσ² of one review's tokens in each view; NaN where Σσ² is 0."""
    return {
        view: float(_squares(band, first=True)[0] / band[0].sum()) if rank and band[0].any() else np.nan
        for view, band, rank in _bands(tokens, views)
    }


def _bands(tokens: TokenMatrix, views: Sequence[str]) -> Iterator[tuple[str, Band, int]]:
    """Each view, the band of its Gram matrix, and its largest rank; where that is 0, the band is empty."""
    shared = {}
    for view in views:
        look, without_first = look_of(view)
        n, width = len(tokens.rows) - without_first, tokens.rows.shape[1]
        rank = look.largest_rank(n, width)
        if rank == 0:
            band = np.empty(0), np.empty(0)
        elif look.gram is None or n > width:
            rows = view_rows(view, tokens.rows)
            band = band_of(rows @ rows.T if n <= width else rows.T @ rows)
        else:
            if look not in shared:
                shared[look] = band_of(look.gram(tokens))
            diagonal, beside = shared[look]
            band = diagonal[int(without_first) :], beside[int(without_first) :]
        yield view, band, rank


def band_of(gram: np.ndarray) -> Band:
    """The band of a tridiagonal matrix with the eigenvalues of a Gram matrix (n, n), n >= 1.

    Without their first entries, they are those of the Gram matrix without its first row and column.
    """
    _, diagonal, beside, *_ = lapack.dsytrd(gram, lower=1, lwork=32 * len(gram))
    return diagonal, beside[: len(gram) - 1]


def roots_of(band: Band, rank: int) -> np.ndarray:
    """(rank,) square roots of the largest eigenvalues of the band of a Gram matrix, descending."""
    if rank == 0:
        return np.empty(0)
    squares = _squares(band)[::-1][:rank]
    return np.sqrt(np.where(squares < ZERO_SHARE * squares[0], 0.0, squares.clip(min=0)))


def _squares(band: Band, first: bool = False) -> np.ndarray:
    """Eigenvalues of a band, ascending; with `first`, the largest alone."""
    n = len(band[0])
    if n == 1:
        return band[0]
    if first:
        return eigvalsh_tridiagonal(*band, select="i", select_range=(n - 1, n - 1))
    try:
        return eigvalsh_tridiagonal(*band, lapack_driver="sterf")
    except LinAlgError:  # QL does not converge; bisection always does
        return eigvalsh_tridiagonal(*band, lapack_driver="stebz")
