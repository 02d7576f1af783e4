"""MAUVE between layers over shards and seeds."""

from collections.abc import Sequence

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
SCHEMAS = {"mauve": MAUVE_SUMMARY_SCHEMA}
_GROUP = ("model", "variant", "layer_from", "layer_to", "depth", "kind")


def tabulate(mauve: Sequence[str]) -> pl.DataFrame:
    """Mean and range over shards and seeds of MAUVE in the files `mauve` of all jobs, sorted by its keys."""
    value = pl.col("mauve")
    return (
        read_tables(mauve)
        .group_by(_GROUP, maintain_order=True)
        .agg(mean=value.mean(), low=value.min(), high=value.max(), n_values=pl.len())
        .cast(MAUVE_SUMMARY_SCHEMA)
        .sort(_GROUP)
    )
