"""MAUVE between layers over shards and seeds."""

from typing import Any

import polars as pl

from homogenization.run.parquet import read_tables

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


def mauve_summary(values: pl.DataFrame) -> pl.DataFrame:
    """Mean and range over shards and seeds: the table `mauve` (`MAUVE_SUMMARY_SCHEMA`), sorted by its keys.

    Args:
        values: MAUVE of all jobs, as measured.
    """
    return (
        values.group_by(_GROUP, maintain_order=True)
        .agg(
            pl.col("mauve").mean().alias("mean"),
            pl.col("mauve").min().alias("low"),
            pl.col("mauve").max().alias("high"),
            pl.len().alias("n_values"),
        )
        .cast(MAUVE_SUMMARY_SCHEMA)
        .sort(_GROUP)
    )


def tabulate(inputs: Any) -> pl.DataFrame:
    """The table `mauve` of the files `inputs.mauve`."""
    return mauve_summary(read_tables(inputs.mauve))
