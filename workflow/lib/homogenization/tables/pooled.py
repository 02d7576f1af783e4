"""Metrics of pooled tokens: one long table over models, variants and shards."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.measures.pooled import COSINE_BINS
from homogenization.metrics.geometry import cosine_modes
from homogenization.metrics.registry import ALL_TOKENS
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
    #: `max_explainable_variance`, `effective_rank`, `participation_ratio`, `cosine_anisotropy`, `cosine_dispersion`,
    #: `cosine_modes`
    "metric": pl.String,
    **columns("value"),
}
SCHEMAS = (POOLED_METRICS_SCHEMA,)
SPECTRAL = ("effective_rank", "max_explainable_variance", "participation_ratio")
COSINE_ANISOTROPY = "cosine_anisotropy"
OF_PAIRS = ("cosine_dispersion", "cosine_modes")
_KEYS = ("model", "variant", "shard", "layer", "point", "depth", "view")


def tabulate(pooled: Sequence[str]) -> pl.DataFrame:
    """Metrics of the pooled tokens in the files of all jobs: the table `pooled`, sorted by its keys.

    A view without singular values has `cosine_anisotropy` alone.
    """
    measured = read_tables(pooled)
    with_pairs = measured.filter(pl.col("cosine_histogram").list.len() > 0)
    histograms = np.array(with_pairs["cosine_histogram"].to_list(), dtype=np.int64).reshape(-1, COSINE_BINS)
    of_pairs = with_pairs.with_columns(
        pl.col("cosine_std").alias("cosine_dispersion"),
        pl.Series("cosine_modes", cosine_modes({"cosine_histogram": histograms}, ALL_TOKENS)),
    )
    with_spectra = measured.filter(pl.col("singular_values").list.len() > 0)
    lengths = with_spectra["singular_values"].list.len().to_numpy().astype(np.int64)
    batch = SpectrumBatch.from_flat(with_spectra["singular_values"].explode(empty_as_null=False).to_numpy(), lengths)
    spectral = with_spectra.with_columns(pl.Series(name, evaluate(name, batch)) for name in SPECTRAL)
    parts = [_long(measured, [COSINE_ANISOTROPY]), _long(of_pairs, OF_PAIRS), _long(spectral, SPECTRAL)]
    return pl.concat(parts).sort(*_KEYS, "metric")


def _long(table: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The columns `metrics` of `table`, a row for each value."""
    long = table.unpivot(on=metrics, index=_KEYS, variable_name="metric", value_name="value")
    return long.select(*POOLED_METRICS_SCHEMA).cast(POOLED_METRICS_SCHEMA)
