"""Singular values of token matrices through float64 Gram matrices: exact, and several times faster than an SVD.

The squared singular values of the rows are the eigenvalues of rows @ rows.T, or of rows.T @ rows, whichever is
smaller. In float64 that costs no metric more than about 1e-9; in float32 it would be wrong as soon as one direction is
10^3 times the rest.

Each matrix is brought to tridiagonal form once for two views. The reduction keeps the first basis vector. If
that is the first token, the form without its first row and column belongs to the view without the first token.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.linalg import lapack

from homogenization.measures.reviews import TokenStates, iterate_reviews, measured_table
from homogenization.measures.views import Look, TokenGram, look_of
from homogenization.metrics.gram import roots_of

SPECTRA_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "review_id": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "view": pl.String,
    "n_tokens": pl.Int32,
    "width": pl.Int32,
    "singular_values": pl.List(pl.Float64),
}


def singular_values(tokens: np.ndarray, views: Sequence[str]) -> dict[str, np.ndarray]:
    """Singular values of one review's token matrix in each view.

    Args:
        tokens: (n, d), n >= 1, any float type; finite. All arithmetic is float64.
        views: names of `homogenization.measures.views.VIEWS`.

    Returns:
        By view, in the order of `views`: (min(n', d),) float64, descending and not negative, where n' is the view's
        number of rows: n, or n - 1 without the first token. It is empty where no row is left (one token, without the
        first). Values whose square is less than 8 eps of the largest square are exactly 0.
    """
    tokens = tokens.astype(np.float64)
    gram = TokenGram(tokens)
    of_looks: dict[str, list[str]] = {}
    for view in views:
        of_looks.setdefault(look_of(view)[0].name, []).append(view)
    spectra = {}
    for name, of_look in of_looks.items():
        eigenvalues = _eigenvalues(look_of(name)[0], tokens, gram, [look_of(view)[1] for view in of_look])
        spectra.update(zip(of_look, map(roots_of, eigenvalues), strict=True))
    return {view: spectra[view] for view in views}


def _eigenvalues(look: Look, tokens: np.ndarray, gram: TokenGram, wanted: Sequence[bool]) -> list[np.ndarray]:
    """Ascending squared singular values of a look, for each entry of `wanted`: whether the first token is left out."""
    n, width = tokens.shape
    if look.nested is None:
        chosen = [look.rows(tokens[1:] if without_first else tokens) for without_first in wanted]
        return [np.linalg.eigvalsh(rows @ rows.T if len(rows) <= width else rows.T @ rows) for rows in chosen]
    if n <= width:
        if look.gram is not None:
            products = look.gram(gram)
        else:
            rows = look.nested(tokens)
            products = rows @ rows.T
        diagonal, beside = _tridiagonal(products)
        return [_tridiagonal_eigenvalues(diagonal[without_first:], beside[without_first:]) for without_first in wanted]
    rows = look.nested(tokens)
    first, rest = rows[0], rows[1:]
    # in a basis whose first vector points along the first token, that token adds to a single element
    diagonal, beside = _tridiagonal(_reflected(rest.T @ rest, first))
    along_first = np.zeros(width)
    along_first[0] = first @ first
    return [
        _tridiagonal_eigenvalues(diagonal if without_first else diagonal + along_first, beside)
        for without_first in wanted
    ]


def _tridiagonal(symmetric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal (n,) and elements beside it (n - 1,) of the tridiagonal form that keeps the first basis vector.

    A large first row stays first, apart from the small rows, so that their eigenvalues keep their precision.
    """
    n = len(symmetric)
    if n == 1:
        return symmetric[0], np.empty(0)
    lwork, _ = lapack.dsytrd_lwork(n, lower=1)
    _, diagonal, beside, _, info = lapack.dsytrd(symmetric, lower=1, lwork=int(lwork))
    assert info == 0
    return diagonal, beside


def _tridiagonal_eigenvalues(diagonal: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Ascending eigenvalues of a symmetric tridiagonal matrix."""
    if len(diagonal) < 2:
        return diagonal
    eigenvalues, info = lapack.dsterf(diagonal, beside)
    if info != 0:
        raise np.linalg.LinAlgError(f"dsterf left {info} eigenvalues unconverged")
    return eigenvalues


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


def measure(store: TokenStates, views: Sequence[str]) -> pl.DataFrame:
    """Singular values of every review, point, layer and view of a store: the table `spectra` (`SPECTRA_SCHEMA`).

    Raises:
        HomogenizationError: states that are not finite.
    """
    return measured_table(_rows(store, views), store, SPECTRA_SCHEMA)


def _rows(store: TokenStates, views: Sequence[str]) -> Iterator[dict[str, Any]]:
    for place, tokens in iterate_reviews(store):
        for view, values in singular_values(tokens, views).items():
            yield {**place, "view": view, "singular_values": values}
