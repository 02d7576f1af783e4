"""Profiles over bins, averaged over reviews: attention by relative position, cosines of token pairs."""

from collections.abc import Sequence

import polars as pl

from homogenization.tables.over_reviews import keep_analysed, summarise, tagged, with_depth

ATTENTION_PROFILE_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "bin": pl.Int32,
    "relative_position": pl.Float64,
    "n_reviews": pl.Int64,
    "received": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "uniform": pl.Float64,
}
COSINES_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "tokens": pl.String,
    "bin_left": pl.Float64,
    "bin_right": pl.Float64,
    "density": pl.Float64,
}
_HISTOGRAMS = {"all_tokens": "cosine_histogram", "without_first": "cosine_histogram_without_first"}


def attention_profiles(jobs: Sequence[tuple[str, str, pl.DataFrame]], similarity: pl.DataFrame) -> pl.DataFrame:
    """Mean received attention by relative position, with its 95 % t interval over analysed reviews.

    Every review counts alike; a bin without tokens in a review leaves that review out of it.

    Args:
        jobs: (model, variant, table `attention` of one shard).
        similarity: tables/similarity.parquet.

    Returns:
        The table `attention` (`ATTENTION_PROFILE_SCHEMA`); relative_position is the centre of the bin.
    """
    group = ("model", "variant", "layer", "depth", "bin", "relative_position")
    parts = []
    for model, variant, table in jobs:
        n_bins = table["received"].list.len().max() or 1
        bins = pl.int_ranges(0, pl.col("received").list.len(), dtype=pl.Int32).alias("bin")
        long = keep_analysed(table, similarity).select("review_id", "layer", bins, "received", "uniform")
        long = long.explode("bin", "received", "uniform")
        long = long.with_columns(((pl.col("bin") + 0.5) / n_bins).alias("relative_position"))
        parts.append(tagged(with_depth(long, int(table["layer"].max() or 0)), model=model, variant=variant))
    if not parts:
        return pl.DataFrame(schema=ATTENTION_PROFILE_SCHEMA)
    table = pl.concat(parts)
    profile = summarise(table, group, "received").rename({"mean": "received"})
    baseline = summarise(table, group, "uniform").select(*group, pl.col("mean").alias("uniform"))
    joined = profile.join(baseline, on=group, how="left")
    return joined.select(*ATTENTION_PROFILE_SCHEMA).cast(ATTENTION_PROFILE_SCHEMA).sort(group)


def cosine_densities(jobs: Sequence[tuple[str, str, int, pl.DataFrame]], similarity: pl.DataFrame) -> pl.DataFrame:
    """Mean over analysed reviews of the density of pairwise cosines; each integrates to 1 over [-1, 1].

    Args:
        jobs: (model, variant, blocks of the model, table `geometry` of one shard).
        similarity: tables/similarity.parquet.

    Returns:
        The table `cosines` (`COSINES_SCHEMA`).
    """
    group = ("model", "variant", "point", "layer", "depth", "tokens", "bin_left", "bin_right")
    parts = []
    for model, variant, n_blocks, table in jobs:
        analysed = keep_analysed(table, similarity)
        for tokens, column in _HISTOGRAMS.items():
            counts = pl.col(column)
            n_bins = counts.list.len()
            width = 2 / n_bins
            long = (
                analysed.filter(counts.list.sum() > 0)
                .select(
                    "point",
                    "layer",
                    pl.lit(tokens).alias("tokens"),
                    pl.int_ranges(0, n_bins).alias("bin"),
                    width.alias("width"),
                    (counts / (counts.list.sum() * width)).alias("density"),
                )
                .explode("bin", "density")
            )
            # edges from the bin's number, so that they are the same floats in every shard
            edges = [(pl.col("bin") + k) * pl.col("width") - 1 for k in (0, 1)]
            long = long.with_columns(edges[0].alias("bin_left"), edges[1].alias("bin_right"))
            parts.append(tagged(with_depth(long, n_blocks), model=model, variant=variant))
    means = pl.concat(parts).group_by(group, maintain_order=True).agg(pl.col("density").mean())
    return means.select(*COSINES_SCHEMA).cast(COSINES_SCHEMA).sort(group)
