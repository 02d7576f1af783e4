"""Every metric of every accepted review in one long table."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.registry import Metric
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.run.parquet import read_table
from homogenization.tables.over_reviews import keep_accepted

#: A row for each review accepted in the variant (every original is), point, layer, view and metric.
METRICS_SCHEMA = columns("model", "variant", "review_id", "point", "layer", "depth", "view", "metric", "value")
SCHEMAS = {"metrics": METRICS_SCHEMA}
_KEYS = ("model", "variant", "review_id", "point", "layer", "depth", "view")
_ROWS_AT_ONCE = 20_000  # spectra in memory beside their p and q


def metrics_of_reviews(
    spectra: pl.DataFrame, geometry: pl.DataFrame, attention: pl.DataFrame | None, metrics: Sequence[str]
) -> pl.DataFrame:
    """The metrics of the reviews of one model, variant and shard: part of the table `metrics` (`METRICS_SCHEMA`).

    A metric of the attention of block l stands at the residual stream after block l; `attention` is None where it was
    not recorded.
    """
    parts = [
        spectral_values(spectra, [name for name in metrics if name in SPECTRAL_METRICS]),
        registered_values(geometry, GEOMETRY_METRICS, metrics),
    ]
    if attention is not None:
        at_point = attention.with_columns(pl.lit(RESIDUAL_STREAM).alias("point"))
        parts.append(registered_values(at_point, ATTENTION_METRICS, metrics))
    return pl.concat(parts)


def spectral_values(spectra: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Spectral metrics of a table of singular values: `METRICS_SCHEMA`."""
    parts = [_empty()]
    for chunk in spectra.iter_slices(_ROWS_AT_ONCE):
        size = chunk["singular_values"].list.len().to_numpy().astype(np.int64)
        flat = chunk["singular_values"].explode(empty_as_null=False).to_numpy()
        batch = SpectrumBatch.from_flat(flat, size)
        parts.append(_long(chunk.select(*_KEYS), {name: evaluate(name, batch) for name in metrics}))
    return pl.concat(parts)


def registered_values(table: pl.DataFrame, registry: Mapping[str, Metric], metrics: Sequence[str]) -> pl.DataFrame:
    """Metrics of the columns of `table`, those of `metrics` that `registry` holds: `METRICS_SCHEMA`."""
    selected = [registry[name] for name in metrics if name in registry]
    if table.is_empty():
        return _empty()
    columns = {column.name: _as_array(column) for column in table.drop(_KEYS, strict=False).iter_columns()}
    parts = [_empty()]
    for view in sorted({view for metric in selected for view in metric.views}):
        keys = table.with_columns(pl.lit(view).alias("view")).select(*_KEYS)
        values = {metric.name: metric.compute(columns, view) for metric in selected if view in metric.views}
        parts.append(_long(keys, values))
    return pl.concat(parts)


def _as_array(column: pl.Series) -> np.ndarray:
    """(rows,) array of a column, (rows, k) of a column of lists of k values."""
    if column.dtype != pl.List:
        return column.to_numpy()
    width = column.list.len().max() or 0
    return column.explode(empty_as_null=False).to_numpy().reshape(len(column), width)


def _empty() -> pl.DataFrame:
    return pl.DataFrame(schema=METRICS_SCHEMA)


def _long(keys: pl.DataFrame, values: Mapping[str, np.ndarray]) -> pl.DataFrame:
    if not values:
        return _empty()
    wide = keys.with_columns(pl.Series(name, column, dtype=pl.Float64) for name, column in values.items())
    return wide.unpivot(index=_KEYS, on=list(values), variable_name="metric", value_name="value")


def tabulate(
    spectra: Sequence[str],
    geometry: Sequence[str],
    attention: Sequence[str] | None,
    similarity: pl.DataFrame,
    metrics: Sequence[str],
) -> pl.DataFrame:
    """The table `metrics`, one job after the other; arguments are those of `metrics_of_jobs`."""
    return pl.concat(metrics_of_jobs(spectra, geometry, attention, similarity, metrics))


def metrics_of_jobs(
    spectra: Sequence[str],
    geometry: Sequence[str],
    attention: Sequence[str] | None,
    similarity: pl.DataFrame,
    metrics: Sequence[str],
) -> Iterator[pl.DataFrame]:
    """The rows of each job in turn, so that the spectra of only one are in memory.

    Args:
        spectra: files of singular values.
        geometry: files of token geometry, in the same order of jobs.
        attention: files of received attention, in the same order; None where it was not recorded.
        similarity: the table `similarity`, which says which reviews are accepted.
        metrics: names of registered metrics.
    """

    def accepted(path: str | None) -> pl.DataFrame | None:
        return path and keep_accepted(read_table(path), similarity)

    jobs = zip(spectra, geometry, attention or [None] * len(spectra), strict=True)
    return (metrics_of_reviews(*map(accepted, paths), metrics) for paths in jobs)
