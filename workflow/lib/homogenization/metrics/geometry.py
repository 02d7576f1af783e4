"""Metrics of token norms and directions.

Each metric is a function of the `TokenMatrix` of a review; that of the view `without_first` gets the matrix without the
first token. To add a metric, write one such function and decorate it: the measure job writes it as a column.

It imports numpy alone, because every parse of the Snakefile reads the names.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from homogenization.metrics.cosines import mean_of_pairs, norms, unit_rows
from homogenization.metrics.registry import ALL_TOKENS, BOTH, WITHOUT_FIRST, Metric, registrar

GEOMETRY_METRICS: dict[str, Metric] = {}
geometry_metric = registrar(GEOMETRY_METRICS)


class TokenMatrix:
    """The tokens of one review, their norms and directions; each is computed once, when it is asked for.

    A zero token has no direction; it counts as u = 0.

    Attributes:
        rows: (n, d) float64, n >= 0; finite.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows

    @cached_property
    def norms(self) -> np.ndarray:
        """(n,) Euclidean norms."""
        return norms(self.rows)

    @cached_property
    def units(self) -> np.ndarray:
        """(n, d) tokens scaled to length 1."""
        return unit_rows(self.rows)

    @cached_property
    def gram(self) -> np.ndarray:
        """(n, n) inner products of the tokens."""
        return self.rows @ self.rows.T

    @cached_property
    def cosines(self) -> np.ndarray:
        """(n, n) cosines of the tokens."""
        lengths = self.norms + (self.norms == 0)
        return self.gram / lengths / lengths[:, None]

    @cached_property
    def resultant(self) -> np.ndarray:
        """(d,) sum of the units."""
        return self.units.sum(axis=0)

    @cached_property
    def without_first(self) -> "TokenMatrix":
        """The tokens after the first."""
        rest = TokenMatrix(self.rows[1:])
        rest.norms, rest.units, rest.cosines = self.norms[1:], self.units[1:], self.cosines[1:, 1:]
        return rest


def _or_nan(number: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    """A number of (n,) values; NaN without any."""
    return float(number(values)) if values.size else np.nan


@geometry_metric(
    title="Resultant length",
    label="resultant length, ‖mean x/‖x‖‖",
    bounds=(0, 1),
    views=BOTH,
    homogenization=1,
    with_length="changes",
)
def resultant_length(tokens: TokenMatrix) -> float:
    """Length of the mean of all tokens scaled to length 1: 1 if all point the same way (Mardia & Jupp 2000)."""
    n = len(tokens.rows)
    return float(norms(tokens.resultant) / n) if n else np.nan


@geometry_metric(
    title="Cosine anisotropy",
    label="mean cosine of token pairs",
    bounds=(-1, 1),
    views=BOTH,
    homogenization=1,
    with_length="same",
)
def cosine_anisotropy(tokens: TokenMatrix) -> float:
    """Mean cosine of all pairs of different tokens: 1 if all point the same way (Godey et al. 2024).

    (n R^2 - m / n) / (n - 1) with m nonzero tokens; for m = n, the usual case, (n R^2 - 1) / (n - 1). NaN for fewer
    than two tokens.
    """
    n, square = len(tokens.rows), tokens.resultant @ tokens.resultant
    return float(mean_of_pairs(square, np.count_nonzero(tokens.norms), n if n > 1 else np.nan))


@geometry_metric(
    title="Dispersion of cosines",
    label="standard deviation of token pairs' cosines",
    bounds=(0, 1),
    views=BOTH,
    with_length="same",
)
def cosine_dispersion(tokens: TokenMatrix) -> float:
    """Standard deviation of the cosines of token pairs."""
    return _or_nan(np.std, tokens.cosines[np.tri(len(tokens.rows), k=-1, dtype=bool)])


@geometry_metric(
    title="Norm of the first token", label="‖x₁‖", bounds=(0, None), views=(ALL_TOKENS,), with_length="same"
)
def first_token_norm(tokens: TokenMatrix) -> float:
    """Length of the vector of the first token."""
    return float(tokens.norms[0])


@geometry_metric(
    title="Norm of the other tokens",
    label="median ‖x‖ after the first token",
    bounds=(0, None),
    views=(WITHOUT_FIRST,),
    with_length="same",
)
def other_token_norm(tokens: TokenMatrix) -> float:
    """Median length of the vectors of the tokens after the first."""
    return _or_nan(np.median, tokens.norms)


@geometry_metric(
    title="Norm of the first token, relative",
    label="‖x₁‖ / median ‖x‖ of the others",
    bounds=(0, None),
    views=(ALL_TOKENS,),
    with_length="same",
)
def first_token_norm_ratio(tokens: TokenMatrix) -> float:
    """Length of the first token / median length of the others; undefined where that is 0."""
    return float(tokens.norms[0] / (other_token_norm(tokens.without_first) or np.nan))


@geometry_metric(
    title="Share of the first token in the energy",
    label="‖x₁‖² / ‖X‖²",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
    with_length="changes",
)
def first_token_energy_share(tokens: TokenMatrix) -> float:
    """Share of the first token in the sum of squared lengths: a lower bound of the maximum explainable variance."""
    return float(tokens.norms[0] ** 2 / ((tokens.norms**2).sum() or np.nan))


@geometry_metric(
    title="Cosine to the first token",
    label="mean cosine to the first token",
    bounds=(-1, 1),
    views=(ALL_TOKENS,),
    homogenization=1,
    with_length="same",
)
def cosine_to_first_token(tokens: TokenMatrix) -> float:
    """Mean cosine of the other tokens to the first."""
    return _or_nan(np.mean, tokens.cosines[0, 1:])
