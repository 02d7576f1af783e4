"""Received attention by relative position, averaged over reviews."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables
from homogenization.tables.over_reviews import keep_accepted, summarise

#: A row for each model, variant, block and bin of relative position, without the first token. None
#: of a model whose attention is not measured. Intervals are 95 % intervals over reviews.
ATTENTION_PROFILE_SCHEMA = {
    **columns("model", "variant"),
    "layer": pl.Int32,  #: the block, from 1
    **columns("depth"),
    "bin": pl.Int32,  #: from 0
    "relative_position": pl.Float64,  #: centre of the bin, 0 … 1
    "n_reviews": pl.Int64,  #: accepted reviews with a token in the bin
    #: mean attention received by a token of the bin; 1 is the average of all tokens of a review
    "received": pl.Float64,
    **columns("ci_low", "ci_high"),
    "uniform": pl.Float64,  #: the same mean under uniform attention
}
SCHEMAS = {"attention": ATTENTION_PROFILE_SCHEMA}
_GROUP = ("model", "variant", "layer", "depth", "bin", "relative_position")


def tabulate(attention: Sequence[str], similarity: pl.DataFrame) -> pl.DataFrame:
    """The table `attention` from files of received attention of all jobs, all with the same number of bins.

    Every review has the same weight; a review without tokens in a bin is left out of that bin.
    """
    accepted = keep_accepted(read_tables(attention), similarity)
    n_bins = accepted["received"].list.len().max() or 1
    bins = pl.int_ranges(0, pl.col("received").list.len(), dtype=pl.Int32).alias("bin")
    long = accepted.select("model", "variant", "layer", "depth", bins, "received", "uniform")
    long = long.explode("bin", "received", "uniform").with_columns(relative_position=(pl.col("bin") + 0.5) / n_bins)
    baseline = summarise(long, _GROUP, "uniform").select(*_GROUP, uniform="mean")
    joined = summarise(long, _GROUP, "received").rename({"mean": "received"}).join(baseline, on=_GROUP, how="left")
    return joined.select(*ATTENTION_PROFILE_SCHEMA).cast(ATTENTION_PROFILE_SCHEMA).sort(_GROUP)
