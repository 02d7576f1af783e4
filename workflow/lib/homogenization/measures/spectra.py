"""Singular values of token matrices through float64 Gram matrices: exact, and several times faster than an SVD.

The squared singular values of the rows are the eigenvalues of rows @ rows.T, or of rows.T @ rows, whichever is
smaller. In float64 that costs no metric more than 1e-10 unless many singular values lie below 4e-8 of the largest and
count as 0; in float32 it would be wrong as soon as one direction is 10^3 times the rest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.reviews import ReviewMeasure
from homogenization.measures.tridiagonal import tridiagonal_forms
from homogenization.measures.views import Look, TokenGram, look_of
from homogenization.metrics.gram import roots_of, symmetric_eigenvalues
from homogenization.names.columns import columns
from homogenization.states.stream import TokenStates

#: A row for each review, point, layer and view.
SPECTRA_SCHEMA = {
    **columns("model", "variant", "review_id", "point", "layer", "depth", "view", "n_tokens", "width"),
    "singular_values": pl.List(pl.Float64),  #: descending
}


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
    return spectra_of(TokenGram(tokens.astype(np.float64)), views)


def spectra_of(gram: TokenGram, views: Sequence[str]) -> dict[str, np.ndarray]:
    """`singular_values` of one review's tokens, whose inner products are at hand."""
    of_looks: dict[str, list[str]] = {}
    for view in views:
        of_looks.setdefault(look_of(view)[0].name, []).append(view)
    spectra = {}
    for name, of_look in of_looks.items():
        look, without_first = look_of(name)[0], [look_of(view)[1] for view in of_look]
        n, width = gram.shape
        eigenvalues = _eigenvalues(look, gram, without_first)
        for view, left_out, ascending in zip(of_look, without_first, eigenvalues, strict=True):
            spectra[view] = roots_of(ascending)[: look.largest_rank(n - left_out, width)]
    return {view: spectra[view] for view in views}


def _eigenvalues(look: Look, gram: TokenGram, wanted: Sequence[bool]) -> list[np.ndarray]:
    """Ascending squared singular values of a look, for each entry of `wanted`: whether the first token is left out."""
    if look.nested is None:
        chosen = [look.rows(gram.tokens[1:] if without_first else gram.tokens) for without_first in wanted]
        small = [rows if len(rows) <= rows.shape[1] else rows.T for rows in chosen]
        return [symmetric_eigenvalues(rows @ rows.T) if len(rows) else np.empty(0) for rows in small]
    forms = tridiagonal_forms(look, gram)
    return [forms[without_first].eigenvalues() for without_first in wanted]


@dataclass(frozen=True)
class Spectra(ReviewMeasure):
    """Singular values of every review, point, layer and view: the table `SPECTRA_SCHEMA`."""

    schemas = (SPECTRA_SCHEMA,)
    states: TokenStates
    views: Sequence[str]

    def of_review(self, place: Mapping[str, Any], gram: TokenGram) -> list[dict[str, Any]]:
        """The rows of one review at one point and layer."""
        spectra = spectra_of(gram, self.views)
        return [{**place, "view": view, "singular_values": values} for view, values in spectra.items()]
