"""Tridiagonal forms of a review's tokens, with the first token and without it, from one reduction."""

import numpy as np

from homogenization.measures.views import Look, TokenGram
from homogenization.metrics.gram import Tridiagonal, reduced


def tridiagonal_forms(look: Look, gram: TokenGram) -> tuple[Tridiagonal, Tridiagonal]:
    """Tridiagonal forms with the squared singular values of a look's rows: one reduction for two views.

    Args:
        look: a look that has `nested` rows.
        gram: the tokens, n >= 1, and their inner products.

    Returns:
        The form of all tokens and that without the first, with min(n', d) eigenvalues, n' the rows of the view.
    """
    n, width = gram.shape
    if n <= width:
        if look.gram is not None:
            products = look.gram(gram)
        else:
            rows = look.nested(gram.tokens)
            products = rows @ rows.T
        form = reduced(products)
        return form, Tridiagonal(form.diagonal[1:], form.beside[1:])
    rows = look.nested(gram.tokens)
    first, rest = rows[0], rows[1:]
    # in a basis whose first vector points along the first token, that token adds to a single element
    form = reduced(_reflected(rest.T @ rest, first))
    along_first = np.zeros(width)
    along_first[0] = first @ first
    return Tridiagonal(form.diagonal + along_first, form.beside), form


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
