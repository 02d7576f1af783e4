"""Metrics of token norms and directions.

To add a metric, write one function of the `TokenMatrix` of a review, with or without its first token, and decorate it:
the measure job writes it as a column. It imports numpy alone, because every parse of the Snakefile reads the names.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from homogenization.metrics.cosines import ZERO_SHARE, mean_of_pairs, norms, unit_rows
from homogenization.metrics.registry import ALL_TOKENS, BOTH, WITHOUT_FIRST, Metric, registrar

GEOMETRY_METRICS: dict[str, Metric] = {}
geometry_metric = registrar(GEOMETRY_METRICS)

N_NEIGHBOURS = 10  # of `neighbourhood_overlap`


class TokenMatrix:
    """The tokens of one review, their norms and directions; each is computed once, when it is asked for.

    A zero token has no direction; it counts as u = 0.

    Attributes:
        rows: (n, d) float64, n >= 0; finite.
        neighbours_before: `neighbours` of the same tokens at the layer before; None at the first.
    """

    def __init__(self, rows: np.ndarray, neighbours_before: np.ndarray | None = None) -> None:
        self.rows, self.neighbours_before = rows, neighbours_before

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
    def squared_distances(self) -> np.ndarray:
        """(n, n) squared Euclidean distances of the tokens, 0 within rounding; infinite on the diagonal."""
        squares = np.diagonal(self.gram)
        sums = squares + squares[:, None]
        distances = sums - 2 * self.gram
        distances[distances < ZERO_SHARE * sums] = 0
        np.fill_diagonal(distances, np.inf)
        return distances

    @cached_property
    def neighbours(self) -> np.ndarray:
        """(n, at most N_NEIGHBOURS + 1) indices of the nearest tokens, the nearest first; of equal ones the earlier."""
        n, k = len(self.rows), min(N_NEIGHBOURS + 1, max(len(self.rows) - 1, 0))
        # in float32, another order of additions does not decide between equal tokens; the bits of floats that are not
        # negative are in their order, and above an index in an integer they decide before it
        bits = np.sqrt(self.squared_distances).astype(np.float32).view(np.int32).astype(np.int64)
        nearest = bits << 32 | np.arange(n)
        if k:
            nearest = np.sort(np.partition(nearest, k - 1, axis=1)[:, :k], axis=1)
        return nearest[:, :k] & 0xFFFFFFFF

    @cached_property
    def resultant(self) -> np.ndarray:
        """(d,) sum of the units."""
        return self.units.sum(axis=0)

    @cached_property
    def without_first(self) -> "TokenMatrix":
        """The tokens after the first."""
        before = None if self.neighbours_before is None else _without_first(self.neighbours_before)
        rest = TokenMatrix(self.rows[1:], before)
        rest.norms, rest.units, rest.neighbours = self.norms[1:], self.units[1:], _without_first(self.neighbours)
        rest.cosines, rest.squared_distances = self.cosines[1:, 1:], self.squared_distances[1:, 1:]
        return rest


def _without_first(neighbours: np.ndarray) -> np.ndarray:
    """The neighbours of all tokens but the first among all but the first: N_NEIGHBOURS of them at most."""
    n, k = len(neighbours), min(N_NEIGHBOURS, max(len(neighbours) - 2, 0))
    # the first token is put behind the others
    order = np.argsort(neighbours[1:] == 0, axis=1, kind="stable")
    return np.take_along_axis(neighbours[1:], order, axis=1)[:, :k].reshape(max(n - 1, 0), k) - 1


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


@geometry_metric(
    title="Variance that the first token explains",
    label="Σ (x·x₁/‖x₁‖)² / ‖X‖²",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
    with_length="changes",
)
def first_token_explained_variance(tokens: TokenMatrix) -> float:
    """Share of the energy along the first token's direction: no maximum explainable variance is lower.

    (c + α) / (c + 1), with c the energy of the first token over that of the others, and α their mean squared cosine to
    it, weighted by energy (a Rayleigh quotient of the Gram matrix).
    """
    squares, along = tokens.norms**2, tokens.cosines[0] ** 2
    return float(squares @ along / (squares.sum() or np.nan))


@geometry_metric(
    title="Curvature",
    label="mean angle between consecutive steps, °",
    bounds=(0, 180),
    views=BOTH,
    with_length="same",
)
def curvature(tokens: TokenMatrix) -> float:
    """Mean angle between x_i+1 − x_i and x_i − x_i-1, in degrees (Hénaff et al. 2019).

    A straight line has 0, a random walk 90, independent tokens 120. A step between equal tokens has no angle. NaN
    without any.
    """
    steps, across = (np.diagonal(tokens.squared_distances, k) for k in (1, 2))
    before, after = steps[:-1], steps[1:]
    product = np.sqrt(before * after)
    # law of cosines
    cosines = (across - before - after)[product > 0] / (2 * product[product > 0])
    return _or_nan(np.mean, np.degrees(np.arccos(cosines.clip(-1, 1))))


@geometry_metric(
    title="Intrinsic dimension",
    label="intrinsic dimension (two nearest neighbours)",
    bounds=(0, None),
    views=BOTH,
    with_length="grows",
)
def intrinsic_dimension(tokens: TokenMatrix) -> float:
    """(n − 1) / Σ ln(r₂ / r₁), r₁ and r₂ the distances to the two nearest tokens (TwoNN, Facco et al. 2017).

    Tokens that equal an earlier one are left out. NaN for fewer than three others. It is too low for few tokens of high
    dimension: of a Gaussian in 256 dimensions 56 with 32 tokens and 70 with 128.
    """
    squares = tokens.squared_distances
    different = ~((squares == 0) & np.tri(len(squares), k=-1, dtype=bool)).any(axis=1)
    n = np.count_nonzero(different)
    if n < 3:
        return np.nan
    nearest = np.partition(squares[np.ix_(different, different)], 1, axis=1)
    return float((n - 1) / (0.5 * np.log(nearest[:, 1] / nearest[:, 0]).sum() or np.nan))


@geometry_metric(
    title="Neighbourhood overlap",
    label="share of neighbours kept from the layer before",
    bounds=(0, 1),
    views=BOTH,
    with_length="changes",
)
def neighbourhood_overlap(tokens: TokenMatrix) -> float | None:
    """Share of a token's ten nearest tokens that were among its ten nearest at the layer before; the mean over tokens.

    Of fewer than eleven tokens, all others are neighbours. Unrelated layers share 10 / (n − 1) (Doimo et al. 2020).
    None without a layer before, NaN for fewer than two tokens.
    """
    if tokens.neighbours_before is None:
        return None
    now, before = (indices[:, :N_NEIGHBOURS] for indices in (tokens.neighbours, tokens.neighbours_before))
    return _or_nan(np.mean, (now[:, :, None] == before[:, None, :]).any(axis=2))
