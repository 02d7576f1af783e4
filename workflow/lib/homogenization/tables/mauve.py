"""MAUVE between layers over shards and seeds."""

from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables

#: A row for each model, variant, pair of layers and kind.
MAUVE_SUMMARY_SCHEMA = {
    **columns("model", "variant", "layer_from", "layer_to"),
    "depth": pl.Float64,  #: `layer_to` / number of blocks
    "kind": pl.String,  #: `consecutive` or `null`
    "mean": pl.Float64,  #: MAUVE, over shards and seeds
    **dict.fromkeys(("low", "high"), pl.Float64),  #: the smallest and the largest of these values
    "n_values": pl.Int64,  #: shards × seeds
}
SCHEMAS = (MAUVE_SUMMARY_SCHEMA,)
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
