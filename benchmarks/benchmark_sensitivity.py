"""How all metrics answer to made-up causes, and how that compares with a collapse: a table on standard output, as CSV.

Every matrix starts as iid Gaussian tokens, and one cause changes it. A metric that moves as far under another cause as
under a collapse can't tell the two apart.
"""

from collections.abc import Callable

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

_ROUNDING = 1e-9  # relative to the values: a metric that is constant up to rounding has no spread


def collapse(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Repeated averaging: the distances of tokens to their mean shrink to a thousandth."""
    mean = tokens.mean(axis=0)
    return mean + 0.001 * (tokens - mean)


def compression(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Few dimensions, min(n, d) / 16, but no common direction; the sum of the squared norms stays."""
    n_dimensions = max(2, min(tokens.shape) // 16)
    basis = np.linalg.qr(generator.standard_normal((tokens.shape[1], n_dimensions)))[0]
    inside = tokens @ basis @ basis.T
    return inside * (np.linalg.norm(tokens) / np.linalg.norm(inside))


def antipodal_pairs(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Every other token points in one direction, the others to its opposite: rank one, and a mean cosine near 0."""
    signs = np.where(np.arange(len(tokens)) % 2, -1.0, 1.0)
    return signs[:, None] * _direction(tokens, generator)


def cone(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """An offset that all tokens share, their differences as before: a mean cosine of .69."""
    return tokens + 1.5 * _direction(tokens, generator)


def massive_first_token(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The first token is 100 times as long."""
    return np.vstack([100 * tokens[:1], tokens[1:]])


def massive_later_token(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The token in the middle is 100 times as long."""
    return np.where(np.arange(len(tokens))[:, None] == len(tokens) // 2, 100.0, 1.0) * tokens


def fewer_tokens(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A quarter of the tokens."""
    return tokens[: len(tokens) // 4]


def _direction(tokens: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """(d,) a random direction, as long as a standard Gaussian token is on average: sqrt(d)."""
    direction = generator.standard_normal(tokens.shape[1])
    return direction * np.sqrt(direction.size / (direction @ direction))


_FUNCTIONS: tuple[Callable[..., np.ndarray], ...] = (
    *(collapse, compression, antipodal_pairs, cone, massive_first_token, massive_later_token, fewer_tokens),
)
CAUSES = {cause.__name__: cause for cause in _FUNCTIONS}
#: A row for each metric and view. A response is the move of the metric under the cause over its move under a collapse:
#: 1 where it moves as under a collapse, 0 where it stays, negative where it goes the other way.
SENSITIVITY_SCHEMA = {
    **columns("metric", "view"),
    #: `collapse`: 1, or NaN as all others if a collapse moves the metric by less than two standard deviations over
    #: seeds; response to (`compression`) few dimensions without a common direction, (`antipodal_pairs`) two opposite
    #: directions, (`cone`) a common offset, (`massive_first_token`, `massive_later_token`) a token 100 times as long,
    #: (`fewer_tokens`) a quarter of the tokens
    **dict.fromkeys(CAUSES, pl.Float64),
}


def metric_values(n_tokens: int, width: int, seeds: range) -> pl.DataFrame:
    """metric, view, cause (null for the Gaussian tokens themselves), seed and value of every matrix."""
    matrices, rows = [], []
    for seed in seeds:
        gaussian = np.random.default_rng([seed, 0]).standard_normal((n_tokens, width))
        for name, cause in {None: lambda tokens, _: tokens, **CAUSES}.items():
            tokens = cause(gaussian, np.random.default_rng([seed, 1]))
            place = {"review_id": str(len(matrices)), "point": RESIDUAL_STREAM, "layer": 0, "n_tokens": len(tokens)}
            matrices.append((place["review_id"], name, seed))
            rows += [place | row for row in matrix_rows(TokenMatrix(tokens), VIEWS)]
    table = with_spectral(pl.DataFrame(rows, schema=MATRICES_SCHEMA))
    found = values_of(table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ATTENTION_METRICS))
    described = pl.DataFrame(matrices, {"review_id": pl.String, "cause": pl.String, "seed": pl.Int64}, orient="row")
    found = found.filter(pl.col("metric") != TOKEN_COUNT).join(described, on="review_id", maintain_order="left")
    return found.select("metric", "view", "cause", "seed", "value")


def responses(values: pl.DataFrame) -> pl.DataFrame:
    """The table from the columns of `metric_values`.

    A move is the mean over seeds minus that of the Gaussian tokens; NaN where the metric is undefined in one of either.
    """
    numbers = values.group_by("metric", "view", "cause").agg(mean=pl.col("value").mean(), sd=pl.col("value").std())
    base = numbers.filter(pl.col("cause").is_null()).drop("cause")
    moves = numbers.join(base, on=("metric", "view"), suffix="_base").with_columns(
        move=pl.col("mean") - pl.col("mean_base"), spread=pl.max_horizontal("sd", "sd_base")
    )
    least = 2 * pl.col("spread") + _ROUNDING * pl.max_horizontal(pl.col("mean", "mean_base").abs())
    unit = moves.filter(pl.col("move").abs() > least, cause="collapse").select("metric", "view", unit="move")
    shares = moves.join(unit, on=("metric", "view"), how="left").with_columns(pl.col("move") / pl.col("unit"))
    wide = shares.drop_nulls("cause").pivot("cause", index=("metric", "view"), values="move")
    return wide.with_columns(pl.col(list(CAUSES)).fill_null(np.nan)).select(*SENSITIVITY_SCHEMA).sort("metric", "view")


if __name__ == "__main__":
    print(responses(metric_values(128, 256, range(8))).write_csv())
