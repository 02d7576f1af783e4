"""What each metric answers to: all of them on matrices made to collapse, to lose dimensions, to follow one token.

Every matrix starts as iid Gaussian tokens, and one cause changes it with a strength from 0 to 1. A metric that moves as
far under another cause as under a collapse can't tell the two apart.

To add a cause, write one function and decorate it with `cause`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from homogenization.measures.geometry import GEOMETRY_SCHEMA, token_geometry
from homogenization.measures.spectra import SPECTRA_SCHEMA, singular_values
from homogenization.measures.views import VIEWS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.tables.metrics import registered_values, spectral_values

# tokens (n, d) float64, strength, generator -> (n', d) float64
Distortion = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Cause:
    """A way of making a matrix.

    Attributes:
        title: of its column in the figure.
        distort: the function; at strength 0 it returns the tokens as they are, up to rounding.
        strengths: ascending; the last one is the full strength.
        ranged: there is no baseline among the strengths: how far a metric moves is its range over them.
    """

    title: str
    distort: Distortion
    strengths: tuple[float, ...]
    ranged: bool


CAUSES: dict[str, Cause] = {}
COLLAPSE = "collapse"  # the cause that the others are measured by


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
    """Averaging, again and again: the tokens' distances to their mean shrink alike, to a thousandth at full strength.

    Not to 0, where the views that centre would have nothing to look at.
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
    """Gaussian tokens of the same width in another number; the strength is n / d."""
    return generator.standard_normal((max(2, round(strength * tokens.shape[1])), tokens.shape[1]))


def _direction(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(d,) a random direction, as long as a standard Gaussian token is on average: sqrt(d)."""
    direction = generator.standard_normal(tokens.shape[1])
    return direction * np.sqrt(direction.size / (direction @ direction))


def _stretched(tokens: np.ndarray, place: int, strength: float) -> np.ndarray:
    stretched = tokens.copy()
    stretched[place] *= 100**strength
    return stretched


_MATRIX = {"cause": pl.String, "strength": pl.Float64, "n_tokens": pl.Int32, "width": pl.Int32, "seed": pl.Int64}
SENSITIVITY_SCHEMA = {
    **_MATRIX,
    "view": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
RESPONSE_SCHEMA = {
    "metric": pl.String,
    "view": pl.String,
    **dict.fromkeys(CAUSES, pl.Float64),
    "answers_to": pl.String,
    "confuses": pl.String,
}

# Shares of the response to a collapse from which on a metric answers to a cause, and can't tell it from a collapse.
ANSWERS, CONFUSES = 0.2, 0.5
_SPREADS = 2.0  # standard deviations over seeds that a move has to exceed
_ROUNDING = 1e-9  # of the values: what is constant up to rounding has no spread either


def sensitivity_table(n_tokens: int = 128, width: int = 256, seeds: int = 8, seed: int = 0) -> pl.DataFrame:
    """Every spectral and geometry metric in all of its views of every matrix: `SENSITIVITY_SCHEMA`.

    Args:
        n_tokens: rows of the matrices; `matrix_shape` has its own numbers.
        width: their columns.
        seeds: draws of each matrix, at least 2; the seeds are `seed`, `seed` + 1, …. One seed gives all causes and
            strengths the same Gaussian tokens and the same random direction.
        seed: the first.
    """
    matrices, spectra, geometry = [], [], []
    for name, registered in CAUSES.items():
        for strength in registered.strengths:
            for drawn in range(seed, seed + seeds):
                gaussian = np.random.default_rng([drawn, 0]).standard_normal((n_tokens, width))
                tokens = registered.distort(gaussian, strength, np.random.default_rng([drawn, 1]))
                key = {"review_id": str(len(matrices)), "point": name, "layer": 0}  # the columns that tables go by
                size = {"n_tokens": tokens.shape[0], "width": tokens.shape[1]}
                matrices.append({**key, **size, "cause": name, "strength": strength, "seed": drawn})
                geometry.append({**key, **size, **token_geometry(tokens)})
                for view, values in singular_values(tokens, VIEWS).items():
                    spectra.append({**key, **size, "view": view, "singular_values": values})
    values = pl.concat(
        [
            spectral_values(pl.DataFrame(spectra, schema=SPECTRA_SCHEMA), list(SPECTRAL_METRICS)),
            registered_values(pl.DataFrame(geometry, schema=GEOMETRY_SCHEMA), GEOMETRY_METRICS, list(GEOMETRY_METRICS)),
        ]
    )
    described = pl.DataFrame(matrices, schema={"review_id": pl.String} | _MATRIX)
    return values.join(described, on="review_id", how="left", maintain_order="left").select(*SENSITIVITY_SCHEMA)


def response_table(sensitivity: pl.DataFrame) -> pl.DataFrame:
    """How far each metric moves under each cause, in units of how far it moves under a collapse: `RESPONSE_SCHEMA`.

    A move is the mean over seeds at full strength less that of the Gaussian tokens; under a cause that is `ranged`, the
    range of the means over its strengths. Strengths at which the metric is undefined for a seed are passed over. A
    metric counts as moved if the move exceeds two standard deviations over seeds, at the end that spreads more.

    Args:
        sensitivity: as from `sensitivity_table`, in any order.

    Returns:
        A row for each metric and view, in the order of the registries. The response to a cause is 1 where the metric
        moves as under a collapse, 0 where it stays, negative where it goes the other way (which way has no meaning
        under a ranged cause: never negative). All are NaN for a metric that a collapse does not move. answers_to:
        causes of responses of at least .2 either way; without responses, the causes that move the metric. confuses:
        causes besides the collapse of responses of at least .5.
    """
    ordered = sensitivity.sort("strength", "seed").partition_by("metric", "view", "cause", as_dict=True)
    spectral = [(metric, view) for metric in SPECTRAL_METRICS for view in VIEWS]
    geometric = [(metric.name, view) for metric in GEOMETRY_METRICS.values() for view in metric.views]
    rows = []
    for metric, view in spectral + geometric:
        moves = {}
        for name, registered in CAUSES.items():
            values = ordered[metric, view, name]["value"].to_numpy().reshape(len(registered.strengths), -1)
            moves[name] = _move(values, registered.ranged)
        rows.append({"metric": metric, "view": view, **_response(moves)})
    return pl.DataFrame(rows, schema=RESPONSE_SCHEMA)


def _move(values: np.ndarray, ranged: bool) -> tuple[float, bool]:
    """How far a metric moves over the strengths of a cause, and whether that is more than seeds do; NaN if undefined.

    `values` are (strengths, seeds), NaN where the metric is undefined.
    """
    defined = values[np.isfinite(values).all(axis=1)]
    if len(defined) < 2 or not (ranged or np.isfinite(values[0]).all()):
        return np.nan, False
    means = defined.mean(axis=1)
    start, end = (means.argmin(), means.argmax()) if ranged else (0, -1)
    move = float(means[end] - means[start])
    spread = max(defined[start].std(ddof=1), defined[end].std(ddof=1))
    return move, bool(abs(move) > _SPREADS * spread + _ROUNDING * np.abs(means).max())


def _response(moves: dict[str, tuple[float, bool]]) -> dict[str, float | str]:
    """The columns of a row after metric and view, of the moves by cause."""
    whole, answers_to_collapse = moves[COLLAPSE]
    responses = {
        name: (abs(move / whole) if CAUSES[name].ranged else move / whole) if answers_to_collapse else np.nan
        for name, (move, _) in moves.items()
    }
    if answers_to_collapse:
        answered = [name for name, response in responses.items() if abs(response) >= ANSWERS]
    else:
        answered = [name for name, (_, moved) in moves.items() if moved]
    confused = [name for name, response in responses.items() if response >= CONFUSES and name != COLLAPSE]
    return {**responses, "answers_to": ", ".join(answered), "confuses": ", ".join(confused)}
