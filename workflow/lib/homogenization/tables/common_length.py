"""Metrics of every review on a common number of tokens, averaged over the draws of tokens."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.tables.metrics import METRICS_SCHEMA, metrics_of_jobs

#: The contrasted metrics of every accepted review with at least `contrasts.common_tokens` tokens, computed on that many
#: tokens, drawn four times. The values cannot be compared with `metrics.parquet`: a rank on 64 tokens is not a rank on
#: 300.
COMMON_LENGTH_SCHEMA = {
    **columns("model", "variant", "review_id", "point", "layer", "depth", "view"),
    "metric": pl.String,  #: name, without the metrics of attention
    "value": pl.Float64,  #: mean over the draws; NaN if it is undefined in any of them
}
SCHEMAS = (COMMON_LENGTH_SCHEMA,)


def mean_over_draws(metrics: pl.DataFrame) -> pl.DataFrame:
    """Metrics averaged over the draws of each review of a job; NaN where one is undefined in any draw."""
    keys = [name for name in METRICS_SCHEMA if name != "value"]
    return metrics.group_by(keys, maintain_order=True).agg(pl.col("value").mean())


def tabulate(
    spectra: Sequence[str], geometry: Sequence[str], similarity: pl.DataFrame, metrics: Sequence[str]
) -> pl.DataFrame:
    """The table `common_length`, one job after the other.

    Args:
        spectra: files of the singular values of the draws.
        geometry: files of their token geometry, in the same order of jobs.
        similarity: the table `similarity`, which says which reviews are accepted.
        metrics: names of metrics; those of attention are left out, since a subset of tokens has none.
    """
    return pl.concat(map(mean_over_draws, metrics_of_jobs(spectra, geometry, None, similarity, metrics)))
