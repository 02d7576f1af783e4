"""The tables of sensitivity: how all metrics answer to each cause, and how that compares with a collapse.

A metric that moves as far under another cause as under a collapse can't tell the two apart.
"""

import numpy as np
import polars as pl

from homogenization.measures.geometry import GEOMETRY_SCHEMA, token_geometry
from homogenization.measures.spectra import SPECTRA_SCHEMA, singular_values
from homogenization.measures.views import VIEWS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.statistics.causes import ANSWERS, CAUSES, COLLAPSE, CONFUSES, RESPONSE_SCHEMA
from homogenization.tables.metrics import registered_values, spectral_values

_MATRIX = {
    #: the change made to Gaussian tokens, see [statistics](statistics.md#what-the-metrics-answer-to)
    "cause": pl.String,
    "strength": pl.Float64,  #: 0 (nothing) … 1 (full strength); tokens / width for `matrix_shape`
    "n_tokens": pl.Int32,  #: rows of the matrix
    "width": pl.Int32,  #: columns of the matrix
    "seed": pl.Int64,  #: seed of the matrix: the same Gaussian tokens for every cause and strength
}
#: A row for each matrix, view and metric: always all spectral and geometry metrics.
SENSITIVITY_SCHEMA = {**_MATRIX, **columns("view", "metric", "value")}
SCHEMAS = SENSITIVITY_SCHEMA, RESPONSE_SCHEMA
_SPREADS = 2.0  # standard deviations over seeds that a move has to exceed
_ROUNDING = 1e-9  # relative to the values: a metric that is constant up to rounding has no spread


def sensitivity_table(n_tokens: int, width: int, seeds: int, seed: int = 0) -> pl.DataFrame:
    """Every spectral and geometry metric of every matrix, in each of its views: `SENSITIVITY_SCHEMA`.

    Args:
        n_tokens: rows of the matrices; `matrix_shape` has its own numbers.
        width: columns of the matrices.
        seeds: number of draws of each matrix, at least 2; the seeds are `seed`, `seed` + 1, …. One seed gives all
            causes and strengths the same Gaussian tokens and the same random direction.
        seed: first seed.
    """
    matrices, spectra, geometry = [], [], []
    for name, registered in CAUSES.items():
        for strength in registered.strengths:
            for drawn in range(seed, seed + seeds):
                gaussian = np.random.default_rng([drawn, 0]).standard_normal((n_tokens, width))
                tokens = registered.distort(gaussian, strength, np.random.default_rng([drawn, 1]))
                key = {"review_id": str(len(matrices)), "point": RESIDUAL_STREAM, "layer": 0}  # keys of the tables
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

    A move is the mean over seeds at full strength minus that of the Gaussian tokens; under a cause that is `ranged`,
    the range of the means over its strengths. Strengths at which the metric is undefined for a seed are left out. A
    metric counts as moved if the move exceeds two standard deviations over seeds, at the end that spreads more.

    Args:
        sensitivity: table from `sensitivity_table`, in any order of rows.

    Returns:
        A row for each metric and view, in the order of the registries. The response to a cause is 1 where the metric
        moves as under a collapse, 0 where it stays, negative where it goes the other way; a ranged cause has no
        direction, so its responses are never negative. All are NaN for a metric that a collapse does not move.
        answers_to: causes with a response of at least .2 or at most -.2; for a metric without responses, the causes
        that move it. confuses: causes other than the collapse with a response of at least .5.
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
    """Move of a metric over the strengths of a cause, and whether it exceeds the spread over seeds; NaN if undefined.

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
    """The columns of a row after metric and view, from the moves by cause."""
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


def tabulate(n_tokens: int, width: int, seeds: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `sensitivity` and `responses`."""
    values = sensitivity_table(n_tokens, width, seeds, seed)
    return values, response_table(values)
