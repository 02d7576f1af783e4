"""Every metric of every analysed review in one long table, and its summary over reviews."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from homogenization.metrics.geometry import ATTENTION_METRICS, GEOMETRY_METRICS
from homogenization.metrics.registry import Metric
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from homogenization.tables.over_reviews import keep_analysed, summarise, tagged, with_depth

METRICS_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "review_id": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "view": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
_GROUP = ("model", "variant", "point", "layer", "depth", "view", "metric")
_KEYS = ("review_id", "point", "layer", "view")
_ROWS_AT_ONCE = 20_000  # spectra in memory beside their p and q


def metrics_of_job(
    model: str,
    variant: str,
    n_blocks: int,
    spectra: pl.DataFrame,
    geometry: pl.DataFrame,
    attention: pl.DataFrame | None,
    similarity: pl.DataFrame,
    metrics: Sequence[str],
) -> pl.DataFrame:
    """The metrics of one model, variant and shard: part of the table `metrics` (`METRICS_SCHEMA`).

    Args:
        model: name.
        variant: name.
        n_blocks: blocks of the model, whose last layer need not be among the stored ones.
        spectra: the shard's table of singular values.
        geometry: the shard's table of token geometry.
        attention: the shard's table of received attention, None where it was not recorded. A metric of the attention
            of block l stands at the residual stream after block l.
        similarity: tables/similarity.parquet, which says which reviews are analysed.
        metrics: names of registered metrics.
    """
    parts = [
        spectral_values(keep_analysed(spectra, similarity), [name for name in metrics if name in SPECTRAL_METRICS]),
        registered_values(keep_analysed(geometry, similarity), GEOMETRY_METRICS, metrics),
    ]
    if attention is not None:
        at_point = attention.with_columns(pl.lit("residual_stream").alias("point"))
        parts.append(registered_values(keep_analysed(at_point, similarity), ATTENTION_METRICS, metrics))
    table = tagged(with_depth(pl.concat(parts), n_blocks), model=model, variant=variant)
    return table.select(*METRICS_SCHEMA).cast(METRICS_SCHEMA)


def spectral_values(spectra: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Long table (review_id, point, layer, view, metric, value) of spectral metrics."""
    parts = [_empty()]
    for chunk in spectra.iter_slices(_ROWS_AT_ONCE):
        size = chunk["singular_values"].list.len().to_numpy().astype(np.int64)
        flat = chunk["singular_values"].explode(empty_as_null=False).to_numpy()
        batch = SpectrumBatch.from_flat(flat, size)
        parts.append(_long(chunk.select(*_KEYS), {name: evaluate(name, batch) for name in metrics}))
    return pl.concat(parts)


def registered_values(table: pl.DataFrame, registry: Mapping[str, Metric], metrics: Sequence[str]) -> pl.DataFrame:
    """Long table (review_id, point, layer, view, metric, value) of metrics of the columns of `table`."""
    chosen = [registry[name] for name in metrics if name in registry]
    columns = {column.name: _as_array(column) for column in table.iter_columns()}
    parts = [_empty()]
    for view in sorted({view for metric in chosen for view in metric.views}):
        keys = table.select("review_id", "point", "layer", pl.lit(view).alias("view"))
        values = {metric.name: metric.compute(columns, view) for metric in chosen if view in metric.views}
        parts.append(_long(keys, values))
    return pl.concat(parts)


def _as_array(column: pl.Series) -> np.ndarray:
    """(rows,) array of a column, (rows, k) of a column of lists of k values."""
    if column.dtype != pl.List:
        return column.to_numpy()
    width = column.list.len().max() or 0
    return column.explode(empty_as_null=False).to_numpy().reshape(len(column), width)


def _empty() -> pl.DataFrame:
    return pl.DataFrame(schema={name: METRICS_SCHEMA[name] for name in (*_KEYS, "metric", "value")})


def _long(keys: pl.DataFrame, values: Mapping[str, np.ndarray]) -> pl.DataFrame:
    if not values:
        return _empty()
    wide = keys.with_columns(pl.Series(name, column, dtype=pl.Float64) for name, column in values.items())
    return wide.unpivot(index=_KEYS, on=list(values), variable_name="metric", value_name="value")


def summary_table(metrics: pl.DataFrame) -> pl.DataFrame:
    """Mean, spread and 95 % t interval over reviews of every metric: the table `summary`, sorted by its keys."""
    return summarise(metrics, _GROUP, "value").sort(_GROUP)
