"""MAUVE between layers over shards and seeds."""

from collections.abc import Sequence

import polars as pl

from homogenization.tables.over_reviews import tagged, with_depth

MAUVE_SUMMARY_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "layer_from": pl.Int32,
    "layer_to": pl.Int32,
    "depth": pl.Float64,
    "kind": pl.String,
    "mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n_values": pl.Int64,
}
_GROUP = ("model", "variant", "layer_from", "layer_to", "depth", "kind")


def mauve_summary(jobs: Sequence[tuple[str, str, int, pl.DataFrame]]) -> pl.DataFrame:
    """Mean and range over shards and seeds: the table `mauve` (`MAUVE_SUMMARY_SCHEMA`).

    Args:
        jobs: (model, variant, blocks of the model, table `mauve` of one shard).
    """
    parts = [
        tagged(with_depth(table, n_blocks, "layer_to"), model=model, variant=variant)
        for model, variant, n_blocks, table in jobs
    ]
    return (
        pl.concat(parts)
        .group_by(_GROUP, maintain_order=True)
        .agg(
            pl.col("mauve").mean().alias("mean"),
            pl.col("mauve").min().alias("low"),
            pl.col("mauve").max().alias("high"),
            pl.len().alias("n_values"),
        )
        .cast(MAUVE_SUMMARY_SCHEMA)
        .sort(_GROUP)
    )
