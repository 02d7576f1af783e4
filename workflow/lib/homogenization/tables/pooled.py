"""Metrics of pooled tokens: one long table over models, variants and shards."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.metrics.spectral import SpectrumBatch, evaluate
from homogenization.run.parquet import read_tables

POOLED_METRICS_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "shard": pl.String,
    "layer": pl.Int32,
    "point": pl.String,
    "depth": pl.Float64,
    "view": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
SPECTRAL = ("effective_rank", "max_explainable_variance", "participation_ratio")
COSINE_ANISOTROPY = "cosine_anisotropy"
_KEYS = ("model", "variant", "shard", "layer", "point", "depth", "view")


def pooled_metrics(measured: pl.DataFrame) -> pl.DataFrame:
    """Metrics of pooled tokens: the table `pooled` (`POOLED_METRICS_SCHEMA`), sorted by its keys.

    Args:
        measured: pooled tokens of all jobs, as measured. A view without singular values has `cosine_anisotropy` alone.
    """
    with_spectra = measured.filter(pl.col("singular_values").list.len() > 0)
    lengths = with_spectra["singular_values"].list.len().to_numpy().astype(np.int64)
    batch = SpectrumBatch.from_flat(with_spectra["singular_values"].explode(empty_as_null=False).to_numpy(), lengths)
    spectral = with_spectra.with_columns(pl.Series(name, evaluate(name, batch)) for name in SPECTRAL)
    return pl.concat([_long(measured, [COSINE_ANISOTROPY]), _long(spectral, SPECTRAL)]).sort(*_KEYS, "metric")


def _long(table: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The columns `metrics` of `table`, a row for each value."""
    long = table.unpivot(on=metrics, index=_KEYS, variable_name="metric", value_name="value")
    return long.select(*POOLED_METRICS_SCHEMA).cast(POOLED_METRICS_SCHEMA)


def tabulate(inputs: Any) -> pl.DataFrame:
    """The table `pooled` of the files `inputs.pooled`."""
    return pooled_metrics(read_tables(inputs.pooled))
