"""The table `sensitivity`: how all metrics answer to each cause, and how that compares with a collapse.

Every matrix starts as iid Gaussian tokens, and one cause changes it with a strength from 0 to 1. A metric that moves as
far under another cause as under a collapse can't tell the two apart.
"""

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from homogenization.measures.measure import MATRICES_SCHEMA, matrix_rows
from homogenization.measures.views import VIEWS
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import TOKEN_COUNT
from homogenization.metrics.geometry import TokenMatrix
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.tables.metrics import values_of, with_spectral

# tokens (n, d) float64, strength, generator -> (n', d) float64; at strength 0 the tokens as they are, up to rounding
Cause = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
# Least responses, as shares of the response to a collapse, at which a metric answers to a cause, and at which it can't
# tell the cause from a collapse.
ANSWERS, CONFUSES = 0.2, 0.5
_SPREADS = 2.0  # standard deviations over seeds that a move has to exceed
_ROUNDING = 1e-9  # relative to the values: a metric that is constant up to rounding has no spread
_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
_SHAPES = (0.125, 0.25, 0.5, 1.0, 2.0)  # tokens / width


def collapse(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Repeated averaging: the distances of tokens to their mean shrink by one factor, .001 at full strength.

    At a factor of 0, the centred views would hold only zeros.
    """
    mean = tokens.mean(axis=0)
    return mean + 0.001**strength * (tokens - mean)


def compression(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Few dimensions, but no common direction: at full strength Gaussian tokens in a random subspace.

    The subspace has min(n, d) / 16 dimensions, at least 2; the sum of the squared norms stays.
    """
    n_dimensions = max(2, min(tokens.shape) // 16)
    basis = np.linalg.qr(generator.standard_normal((tokens.shape[1], n_dimensions)))[0]
    inside = tokens @ basis @ basis.T
    compressed = inside + (1 - strength) * (tokens - inside)
    return compressed * (np.linalg.norm(tokens) / np.linalg.norm(compressed))


def antipodal_pairs(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Every other token turns to one direction, the others to its opposite: rank one, and a mean cosine near 0."""
    signs = np.where(np.arange(len(tokens)) % 2, -1.0, 1.0)
    pairs = signs[:, None] * _direction(tokens, generator)
    return np.sqrt(1 - strength) * tokens + np.sqrt(strength) * pairs


def cone(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """An offset that all tokens share, their differences as before: a mean cosine of .69 at full strength."""
    return tokens + 1.5 * strength * _direction(tokens, generator)


def massive_first_token(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """The first token grows longer, 100 times at full strength."""
    return _stretched(tokens, 0, strength)


def massive_later_token(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """The token in the middle grows longer, 100 times at full strength."""
    return _stretched(tokens, len(tokens) // 2, strength)


def matrix_shape(tokens: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Another number of Gaussian tokens of the same width; the strength is n / d, and nothing is its baseline."""
    return generator.standard_normal((max(2, round(strength * tokens.shape[1])), tokens.shape[1]))


_CHANGES = (collapse, compression, antipodal_pairs, cone, massive_first_token, massive_later_token)
CAUSES: dict[str, tuple[Cause, tuple[float, ...]]] = {  # with its strengths, of which the last is the full one
    **{cause.__name__: (cause, _STRENGTHS) for cause in _CHANGES},
    matrix_shape.__name__: (matrix_shape, _SHAPES),
}
#: A row for each metric and view. A response is the move of the metric under the cause over its move under a collapse.
#: It is NaN for metrics that a collapse does not move.
SENSITIVITY_SCHEMA = {
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
SCHEMAS = {"sensitivity": SENSITIVITY_SCHEMA}


def tabulate(n_tokens: int, width: int, seeds: int, seed: int) -> pl.DataFrame:
    """The table `sensitivity` of all spectral and geometry metrics, sorted by metric and view.

    Args:
        n_tokens: rows of the matrices; `matrix_shape` has its own numbers.
        width: columns of the matrices.
        seeds: draws of each matrix, at least 2; the seeds are `seed`, `seed` + 1, …. One seed gives all causes the same
            Gaussian tokens and the same random direction.
        seed: first seed.
    """
    values = metric_values(n_tokens, width, range(seed, seed + seeds))
    rows = []
    for (metric, view), of_cell in values.group_by("metric", "view", maintain_order=True):
        by_cause = of_cell.sort("strength", "seed").partition_by("cause", as_dict=True)
        of_causes = {
            name: by_cause[name,]["value"].to_numpy().reshape(len(strengths), -1)
            for name, (_, strengths) in CAUSES.items()
        }
        rows.append({"metric": metric, "view": view, **responses(of_causes)})
    return pl.DataFrame(rows, schema=SENSITIVITY_SCHEMA).sort("metric", "view")


def metric_values(n_tokens: int, width: int, seeds: range) -> pl.DataFrame:
    """metric, view, cause, strength, seed and value of every matrix."""
    matrices, rows = [], []
    for name, (cause, strengths) in CAUSES.items():
        for strength in strengths:
            for seed in seeds:
                gaussian = np.random.default_rng([seed, 0]).standard_normal((n_tokens, width))
                tokens = cause(gaussian, strength, np.random.default_rng([seed, 1]))
                place = {"review_id": str(len(matrices)), "point": RESIDUAL_STREAM, "layer": 0, "n_tokens": len(tokens)}
                matrices.append((place["review_id"], name, strength, seed))
                rows += [place | row for row in matrix_rows(TokenMatrix(tokens), VIEWS)]
    table = with_spectral(pl.DataFrame(rows, schema=MATRICES_SCHEMA))
    found = values_of(table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ATTENTION_METRICS))
    found = found.filter(pl.col("metric") != TOKEN_COUNT)
    named = {"review_id": pl.String, "cause": pl.String, "strength": pl.Float64, "seed": pl.Int64}
    described = pl.DataFrame(matrices, schema=named, orient="row")
    found = found.join(described, on="review_id", how="left", maintain_order="left")
    return found.select("metric", "view", "cause", "strength", "seed", "value")


def responses(values: Mapping[str, np.ndarray]) -> dict[str, float | str]:
    """The columns of a row after metric and view.

    A move is the mean over seeds at full strength minus that of the Gaussian tokens; under `matrix_shape`, the range of
    the means over its strengths. Strengths at which the metric is undefined for a seed are left out. It counts if it
    exceeds two standard deviations over seeds, at the end that spreads more. The response to a cause is 1 where the
    metric moves as under a collapse, 0 where it stays, negative where it goes the other way.

    Args:
        values: by cause, (strengths, seeds) values of the metric, NaN where it is undefined.
    """
    moves = {name: _move(of_cause, name == matrix_shape.__name__) for name, of_cause in values.items()}
    whole, answers_to_collapse = moves[collapse.__name__]
    unit = whole if answers_to_collapse else np.nan
    found = {name: move / (abs(unit) if name == matrix_shape.__name__ else unit) for name, (move, _) in moves.items()}
    if answers_to_collapse:
        answered = [name for name, response in found.items() if abs(response) >= ANSWERS]
    else:
        answered = [name for name, (_, moved) in moves.items() if moved]
    confused = [name for name, response in found.items() if response >= CONFUSES and name != collapse.__name__]
    return {**found, "answers_to": ", ".join(answered), "confuses": ", ".join(confused)}


def _move(values: np.ndarray, ranged: bool) -> tuple[float, bool]:
    """Move of a metric over the strengths of a cause, and whether it exceeds the spread; NaN if undefined."""
    defined = values[np.isfinite(values).all(axis=1)]
    if len(defined) < 2 or not (ranged or np.isfinite(values[0]).all()):
        return np.nan, False
    means = defined.mean(axis=1)
    start, end = (means.argmin(), means.argmax()) if ranged else (0, -1)
    move = float(means[end] - means[start])
    spread = max(defined[start].std(ddof=1), defined[end].std(ddof=1))
    return move, bool(abs(move) > _SPREADS * spread + _ROUNDING * np.abs(means).max())


def _direction(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(d,) a random direction, as long as a standard Gaussian token is on average: sqrt(d)."""
    direction = generator.standard_normal(tokens.shape[1])
    return direction * np.sqrt(direction.size / (direction @ direction))


def _stretched(tokens: np.ndarray, place: int, strength: float) -> np.ndarray:
    stretched = tokens.copy()
    stretched[place] *= 100**strength
    return stretched
