"""Cosines of the token pairs of a review, averaged over reviews."""

from collections.abc import Sequence

import polars as pl

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables
from homogenization.tables.over_reviews import keep_accepted

#: A row for each model, variant, point, layer, set of tokens and bin of the histogram of pairwise cosines.
COSINES_SCHEMA = {
    **columns("model", "variant", "point", "layer", "depth"),
    "tokens": pl.String,  #: `all_tokens` or `without_first`
    **dict.fromkeys(("bin_left", "bin_right"), pl.Float64),  #: edges, in cosine
    "n_reviews": pl.Int64,  #: accepted reviews with such a pair
    "density": pl.Float64,  #: mean over these reviews of the density of pairwise cosines; integrates to 1
}
SCHEMAS = (COSINES_SCHEMA,)
_HISTOGRAMS = {ALL_TOKENS: "cosine_histogram", WITHOUT_FIRST: "cosine_histogram_without_first"}
_GROUP = ("model", "variant", "point", "layer", "depth", "tokens", "bin_left", "bin_right")


def tabulate(geometry: Sequence[str], similarity: pl.DataFrame) -> pl.DataFrame:
    """Mean over reviews of the density of pairwise cosines, each of which integrates to 1 over [-1, 1].

    Args:
        geometry: files of the token geometry of all jobs.
        similarity: the table `similarity`, which says which reviews are accepted.

    Returns:
        The table `cosines` (`COSINES_SCHEMA`), sorted by its keys.
    """
    accepted = keep_accepted(read_tables(geometry), similarity)
    densities = pl.concat([_densities(accepted, tokens, column) for tokens, column in _HISTOGRAMS.items()])
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
