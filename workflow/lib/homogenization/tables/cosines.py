"""Cosines of the token pairs of a review, averaged over reviews."""

from typing import Any

import polars as pl

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.run.parquet import read_table, read_tables
from homogenization.tables.over_reviews import keep_accepted

COSINES_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "tokens": pl.String,
    "bin_left": pl.Float64,
    "bin_right": pl.Float64,
    "n_reviews": pl.Int64,
    "density": pl.Float64,
}
_HISTOGRAMS = {ALL_TOKENS: "cosine_histogram", WITHOUT_FIRST: "cosine_histogram_without_first"}
_GROUP = ("model", "variant", "point", "layer", "depth", "tokens", "bin_left", "bin_right")


def cosine_densities(geometry: pl.DataFrame) -> pl.DataFrame:
    """Mean over reviews of the density of pairwise cosines; each integrates to 1 over [-1, 1].

    Args:
        geometry: token geometry of the accepted reviews of all jobs.

    Returns:
        The table `cosines` (`COSINES_SCHEMA`), sorted by its keys.
    """
    densities = pl.concat([_densities(geometry, tokens, column) for tokens, column in _HISTOGRAMS.items()])
    means = densities.group_by(_GROUP, maintain_order=True).agg(pl.len().alias("n_reviews"), pl.col("density").mean())
    return means.select(*COSINES_SCHEMA).cast(COSINES_SCHEMA).sort(_GROUP)


def _densities(geometry: pl.DataFrame, tokens: str, column: str) -> pl.DataFrame:
    """Densities of the histograms in `column` that count at least one pair, one row for each bin."""
    counts = pl.col(column)
    n_bins = counts.list.len()
    width = 2 / n_bins
    # edges from the bin's number, so that they are the same floats in every shard
    edges = [(pl.col("bin") + k) * pl.col("width") - 1 for k in (0, 1)]
    return (
        geometry.filter(counts.list.sum() > 0)
        .select(
            "model",
            "variant",
            "point",
            "layer",
            "depth",
            pl.lit(tokens).alias("tokens"),
            pl.int_ranges(0, n_bins).alias("bin"),
            width.alias("width"),
            (counts / (counts.list.sum() * width)).alias("density"),
        )
        .explode("bin", "density")
        .with_columns(edges[0].alias("bin_left"), edges[1].alias("bin_right"))
    )


def tabulate(inputs: Any) -> pl.DataFrame:
    """The table `cosines` of the files `inputs.geometry`, over the reviews that `inputs.similarity` accepts."""
    return cosine_densities(keep_accepted(read_tables(inputs.geometry), read_table(inputs.similarity)))
