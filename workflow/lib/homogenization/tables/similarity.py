"""How alike rewritten reviews are to the originals, which of them are accepted, and where their key phrases went."""

from collections.abc import Sequence

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.tables.over_reviews import tagged

RANDOM_PAIRS = "random_pairs"

SIMILARITY_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "precision": pl.Float64,
    "recall": pl.Float64,
    "f1": pl.Float64,
    "accepted": pl.Boolean,
    "analysed": pl.Boolean,
}
ACCEPTANCE_SCHEMA = {
    "variant": pl.String,
    "n_reviews": pl.Int64,
    "n_rewritten": pl.Int64,
    "n_accepted": pl.Int64,
    "acceptance_rate": pl.Float64,
    "mean_f1": pl.Float64,
    "median_f1": pl.Float64,
    "baseline_median_f1": pl.Float64,
    "threshold": pl.Float64,
}
PLACEMENT_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "phrase": pl.String,
    "sentence": pl.Int64,
    "original_position": pl.Float64,
    "position": pl.Float64,
}
_SCORES = ("precision", "recall", "f1")


def similarity_table(
    variants: Sequence[tuple[str, pl.DataFrame]],
    random_pairs: Sequence[pl.DataFrame],
    threshold: float,
    n_reviews: int,
) -> pl.DataFrame:
    """Scores of all variants and of random pairs: the table `similarity` (`SIMILARITY_SCHEMA`).

    A rewritten review is accepted where its F1 is at least `threshold`; a review is analysed where it is accepted in
    every variant, so that variants are compared on the same reviews. Both are null for random pairs.

    Args:
        variants: (variant, scores of one shard); without any, every review is analysed.
        random_pairs: scores of random pairs of reviews, by shard.
        threshold: of F1.
        n_reviews: reviews of the sample, for the message.

    Raises:
        HomogenizationError: no review is accepted in every variant.
    """
    scored = _concatenated([tagged(scores, variant=variant) for variant, scores in variants])
    # a missing score accepts nothing; polars counts NaN as larger than any number
    accepted = scored.with_columns((pl.col("f1").fill_nan(None) >= threshold).fill_null(False).alias("accepted"))
    n_variants = scored["variant"].n_unique()
    in_every_variant = pl.col("accepted").all() & (pl.col("variant").n_unique() == n_variants)
    everywhere = accepted.group_by("review_id").agg(in_every_variant.alias("analysed"))
    table = accepted.join(everywhere, on="review_id", how="left", maintain_order="left").select(*SIMILARITY_SCHEMA)
    if not table.is_empty() and not table["analysed"].any():
        raise HomogenizationError(_nothing_accepted(table, random_pairs, threshold, n_reviews))
    baseline = _concatenated([tagged(scores, variant=RANDOM_PAIRS) for scores in random_pairs])
    missing = [pl.lit(None, dtype=pl.Boolean).alias(name) for name in ("accepted", "analysed")]
    return pl.concat([table, baseline.select(*list(SIMILARITY_SCHEMA)[:5], *missing)])


def _concatenated(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    schema = {name: dtype for name, dtype in SIMILARITY_SCHEMA.items() if name not in ("accepted", "analysed")}
    return pl.concat([pl.DataFrame(schema=schema), *(table.select(*schema).cast(schema) for table in tables)])


def _nothing_accepted(
    table: pl.DataFrame, random_pairs: Sequence[pl.DataFrame], threshold: float, n_reviews: int
) -> str:
    lines = [
        f"  {row['variant']}: {row['n_accepted']} of {row['n_reviews']} accepted "
        f"({row['acceptance_rate']:.0%}), median F1 {row['median_f1']:.3f}"
        for row in acceptance_table(table, threshold, n_reviews).iter_rows(named=True)
    ]
    baseline = pl.concat([scores["f1"] for scores in random_pairs]).median() if random_pairs else None
    random = "" if baseline is None else f" Random pairs of reviews have a median F1 of {baseline:.3f}."
    return "\n".join(
        [
            f"similarity.threshold: {threshold} accepts no review in every variant, so nothing is left to analyse:",
            *lines,
            f"A threshold belongs to its encoder and layer: choose one below these medians and above random pairs."
            f"{random} Only tables and figures are computed again.",
        ]
    )


def acceptance_table(similarity: pl.DataFrame, threshold: float, n_reviews: int) -> pl.DataFrame:
    """Acceptance by variant, beside the median F1 of random pairs: the table `acceptance` (`ACCEPTANCE_SCHEMA`).

    Args:
        similarity: the table `similarity`; a review that a language model failed to rewrite is not in it.
        threshold: of F1.
        n_reviews: reviews of the sample, which the rate is of.
    """
    is_baseline = pl.col("variant") == RANDOM_PAIRS
    return (
        similarity.filter(~is_baseline)
        .group_by("variant", maintain_order=True)
        .agg(
            pl.lit(n_reviews).alias("n_reviews"),
            pl.len().alias("n_rewritten"),
            pl.col("accepted").sum().alias("n_accepted"),
            (pl.col("accepted").sum() / n_reviews).alias("acceptance_rate"),
            pl.col("f1").mean().alias("mean_f1"),
            pl.col("f1").median().alias("median_f1"),
        )
        .with_columns(
            pl.lit(similarity.filter(is_baseline)["f1"].median(), dtype=pl.Float64).alias("baseline_median_f1"),
            pl.lit(threshold, dtype=pl.Float64).alias("threshold"),
        )
        .cast(ACCEPTANCE_SCHEMA)
    )


def placement_table(variants: Sequence[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """One row for each occurrence of a key phrase: the table `placement` (`PLACEMENT_SCHEMA`).

    Positions are fractions of the sentence, 0 its beginning and 1 its end; null where the phrase is the whole sentence.

    Args:
        variants: (variant, rewritten reviews of one shard with their `placements`).
    """
    parts = [
        tagged(reviews, variant=variant)
        .select("variant", "review_id", "placements")
        .explode("placements")
        .drop_nulls("placements")
        .unnest("placements")
        .select(*PLACEMENT_SCHEMA)
        .cast(PLACEMENT_SCHEMA)
        for variant, reviews in variants
    ]
    return pl.concat([pl.DataFrame(schema=PLACEMENT_SCHEMA), *parts])
