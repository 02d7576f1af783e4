"""Metrics of pooled tokens: one long table over models, variants and shards."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.metrics.spectral import SpectrumBatch, evaluate
from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables

#: A row for each model, variant, shard, layer, point, view and metric; sorted by these. The tokens of all reviews of a
#: shard, accepted or not, are taken together.
POOLED_METRICS_SCHEMA = {
    **columns("model", "variant", "shard", "layer", "point", "depth"),
    #: `pooled_centred`: all tokens minus their mean; `pooled`: as they are, with `cosine_anisotropy` alone; each also
    #: `_without_first`, the first token of each review
    "view": pl.String,
    #: `max_explainable_variance`, `effective_rank`, `participation_ratio`, `cosine_anisotropy`, `cosine_dispersion`
    "metric": pl.String,
    **columns("value"),
}
SCHEMAS = {"pooled": POOLED_METRICS_SCHEMA}
SPECTRAL = ("effective_rank", "max_explainable_variance", "participation_ratio")
_KEYS = ("model", "variant", "shard", "layer", "point", "depth", "view")


def tabulate(pooled: Sequence[str]) -> pl.DataFrame:
    """Metrics of the pooled tokens in the files of all jobs: the table `pooled`, sorted by its keys.

    A view without singular values has `cosine_anisotropy` alone.
    """
    measured = read_tables(pooled)
    with_spectra = measured.drop_nulls("singular_values")
    lengths = with_spectra["singular_values"].list.len().to_numpy().astype(np.int64)
    batch = SpectrumBatch.from_flat(with_spectra["singular_values"].explode(empty_as_null=False).to_numpy(), lengths)
    spectral = with_spectra.with_columns(pl.Series(name, evaluate(name, batch)) for name in SPECTRAL)
    of_pairs = measured.drop_nulls("cosine_std").rename({"cosine_std": "cosine_dispersion"})
    parts = [
        _long(measured, ["cosine_anisotropy"]),
        _long(of_pairs, ["cosine_dispersion"]),
        _long(spectral, SPECTRAL),
    ]
    return pl.concat(parts).sort(*_KEYS, "metric")


def _long(table: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The columns `metrics` of `table`, a row for each value."""
    long = table.unpivot(on=metrics, index=_KEYS, variable_name="metric", value_name="value")
    return long.select(*POOLED_METRICS_SCHEMA).cast(POOLED_METRICS_SCHEMA)
