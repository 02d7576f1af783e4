"""Metrics of every review on a common number of tokens, averaged over the draws of tokens."""

from collections.abc import Sequence

import polars as pl

from homogenization.measures.common_length import SEPARATOR
from homogenization.tables.metrics import METRICS_SCHEMA, metrics_of_job


def common_length_of_job(
    model: str,
    variant: str,
    n_blocks: int,
    spectra: pl.DataFrame,
    geometry: pl.DataFrame,
    similarity: pl.DataFrame,
    metrics: Sequence[str],
) -> pl.DataFrame:
    """Metrics averaged over the draws of each analysed review: part of the table `common_length` (`METRICS_SCHEMA`).

    Args:
        model: name.
        variant: name.
        n_blocks: blocks of the model.
        spectra: singular values of `DrawnTokens` of one shard.
        geometry: their geometry.
        similarity: tables/similarity.parquet, which says which reviews are analysed.
        metrics: names; those of attention, which no subset of tokens gives, are left out.

    Returns:
        A value is NaN where it is undefined in any draw.
    """
    of_draws = metrics_of_job(
        model, variant, n_blocks, _of_reviews(spectra), _of_reviews(geometry), None, similarity, metrics
    )
    keys = [name for name in METRICS_SCHEMA if name != "value"]
    return of_draws.group_by(keys, maintain_order=True).agg(pl.col("value").mean())


def _of_reviews(of_draws: pl.DataFrame) -> pl.DataFrame:
    """`of_draws` with the names of the reviews in place of the draws'."""
    return of_draws.with_columns(pl.col("review_id").str.split(SEPARATOR).list.first())
