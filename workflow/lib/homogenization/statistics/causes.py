"""The causes that metrics may answer to, each a function that makes a matrix.

Every matrix starts as iid Gaussian tokens, and one cause changes it with a strength from 0 to 1. To add a cause, write
one function and decorate it with `cause`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from homogenization.names.columns import columns

# tokens (n, d) float64, strength, generator -> (n', d) float64
Distortion = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Cause:
    """A way of making a matrix.

    Attributes:
        title: heading of its column in the figure.
        distort: function that makes the matrix; at strength 0 it returns the tokens as they are, up to rounding.
        strengths: ascending strengths; the last one is the full strength.
        ranged: whether the strengths lack a baseline; the move of a metric is then its range over them.
    """

    title: str
    distort: Distortion
    strengths: tuple[float, ...]
    ranged: bool


CAUSES: dict[str, Cause] = {}
COLLAPSE = "collapse"  # the cause whose response is the unit of the others
# Least responses, as shares of the response to a collapse, at which a metric answers to a cause, and at which it can't
# tell the cause from a collapse.
ANSWERS, CONFUSES = 0.2, 0.5


def cause(
    title: str, strengths: tuple[float, ...] = (0, 0.25, 0.5, 0.75, 1), ranged: bool = False
) -> Callable[[Distortion], Distortion]:
    """Register the decorated function as the `distort` of a `Cause` under its own name."""

    def register(distort: Distortion) -> Distortion:
        CAUSES[distort.__name__] = Cause(title, distort, strengths, ranged)
        return distort

    return register


@cause("Collapse")
def collapse(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Repeated averaging: the distances of tokens to their mean shrink by one factor, .001 at full strength.

    At a factor of 0, the centred views would hold only zeros.
    """
    mean = tokens.mean(axis=0)
    return mean + 0.001**strength * (tokens - mean)


@cause("Compression")
def compression(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Few dimensions, but no common direction: at full strength Gaussian tokens in a random subspace.

    The subspace has min(n, d) / 16 dimensions, at least 2; the sum of the squared norms stays.
    """
    n_dimensions = max(2, min(tokens.shape) // 16)
    basis = np.linalg.qr(generator.standard_normal((tokens.shape[1], n_dimensions)))[0]
    inside = tokens @ basis @ basis.T
    compressed = inside + (1 - strength) * (tokens - inside)
    return compressed * (np.linalg.norm(tokens) / np.linalg.norm(compressed))


@cause("Antipodal pairs")
def antipodal_pairs(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Every other token turns to one direction, the others to its opposite: rank one, and a mean cosine near 0."""
    signs = np.where(np.arange(len(tokens)) % 2, -1.0, 1.0)
    pairs = signs[:, None] * _direction(tokens, generator)
    return np.sqrt(1 - strength) * tokens + np.sqrt(strength) * pairs


@cause("Cone")
def cone(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """An offset that all tokens share, their differences as before: a mean cosine of .69 at full strength."""
    return tokens + 1.5 * strength * _direction(tokens, generator)


@cause("Massive first token")
def massive_first_token(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """The first token grows longer, 100 times at full strength."""
    return _stretched(tokens, 0, strength)


@cause("Massive later token")
def massive_later_token(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """The token in the middle grows longer, 100 times at full strength."""
    return _stretched(tokens, len(tokens) // 2, strength)


@cause("Shape of noise", strengths=(0.125, 0.25, 0.5, 1, 2), ranged=True)
def matrix_shape(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Another number of Gaussian tokens of the same width; the strength is n / d."""
    return generator.standard_normal((max(2, round(strength * tokens.shape[1])), tokens.shape[1]))


def _direction(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(d,) a random direction, as long as a standard Gaussian token is on average: sqrt(d)."""
    direction = generator.standard_normal(tokens.shape[1])
    return direction * np.sqrt(direction.size / (direction @ direction))


def _stretched(tokens: np.ndarray, place: int, strength: float) -> np.ndarray:
    stretched = tokens.copy()
    stretched[place] *= 100**strength
    return stretched


#: A row for each metric and view. A response is the move of the metric under the cause over its move under a collapse.
#: It is NaN for metrics that a collapse does not move.
RESPONSE_SCHEMA = {
    **columns("metric", "view"),
    #: `collapse`: 1, or NaN if a collapse moves the metric by less than two standard deviations over seeds; response
    #: (`compression`) to few dimensions, without a common direction, (`antipodal_pairs`) to two opposite directions,
    #: (`cone`) to a common offset, (`massive_first_token`, `massive_later_token`) to a first or another token 100 times
    #: as long; `matrix_shape`: range over n / d from ⅛ to 2 of Gaussian noise, over the size of the move under a
    #: collapse
    **dict.fromkeys(CAUSES, pl.Float64),
    #: causes with a response of at least .2 either way, separated by commas; without responses, the causes that move
    #: the metric by more than two standard deviations over seeds
    "answers_to": pl.String,
    "confuses": pl.String,  #: causes besides `collapse` with a response of at least .5
}
