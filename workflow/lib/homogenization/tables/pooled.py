"""Metrics of pooled tokens: one long table over models, variants and shards."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.run.parquet import read_tables
from homogenization.tables.metrics import with_spectral

POOLED_VIEW = "pooled_centred"
_KEYS = ("model", "variant", "shard", "layer", "point", "depth", "view")
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
METRICS = (
    "cosine_anisotropy",
    "cosine_dispersion",
    "effective_rank",
    "max_explainable_variance",
    "participation_ratio",
)


def tabulate(pooled: Sequence[str]) -> pl.DataFrame:
    """Metrics of the pooled tokens in the files of all jobs: the table `pooled`, sorted by its keys."""
    measured = read_tables(pooled).rename({"cosine_std": "cosine_dispersion"})
    spectral = with_spectral(measured).select(*_KEYS, *METRICS)
    long = spectral.unpivot(METRICS, index=_KEYS, variable_name="metric").drop_nulls("value")
    return long.select(*POOLED_METRICS_SCHEMA).cast(POOLED_METRICS_SCHEMA).sort(*_KEYS, "metric")


def pools_as_reviews(pooled: pl.DataFrame) -> pl.DataFrame:
    """The view `POOLED_VIEW` of the table as values of metrics: a pool in place of a review.

    The output is that after the final norm, where there is one.
    """
    rows = pooled.filter(view=POOLED_VIEW).rename({"shard": "review_id"})
    last = pl.col("point") == FINAL_NORM
    after_norm = rows.filter(last).with_columns(pl.lit(RESIDUAL_STREAM).alias("point"))
    keys = ["model", "variant", "review_id", "layer", "view", "metric"]
    return pl.concat([rows.filter(~last).join(after_norm, on=keys, how="anti"), after_norm])
