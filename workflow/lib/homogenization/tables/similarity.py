"""How similar rewritten reviews are to the originals, and which of them are accepted."""

import logging
from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table
from homogenization.variants.names import RANDOM_PAIRS
from homogenization.variants.schemas import SCORE_SCHEMA

SIMILARITY_SCHEMA = {**SCORE_SCHEMA, "accepted": pl.Boolean, "analysed": pl.Boolean}
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


def similarity_table(
    variants: Sequence[pl.DataFrame], random_pairs: Sequence[pl.DataFrame], threshold: float, n_reviews: int
) -> pl.DataFrame:
    """Scores of all variants and of random pairs: the table `similarity` (`SIMILARITY_SCHEMA`).

    A rewritten review is accepted where its F1 is at least `threshold`; a review is analysed where it is accepted in
    every variant, so that variants are compared on the same reviews. Both are null for random pairs.

    Args:
        variants: Scores of variants, columns of `SCORE_SCHEMA`; without any, every review is analysed.
        random_pairs: Scores of random pairs of reviews.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample, for the message.

    Raises:
        HomogenizationError: no review is accepted in every variant.
    """
    scored = _concatenated(variants)
    # a missing score accepts nothing; polars counts NaN as larger than any number
    accepted = scored.with_columns((pl.col("f1").fill_nan(None) >= threshold).fill_null(False).alias("accepted"))
    n_variants = scored["variant"].n_unique()
    in_every_variant = pl.col("accepted").all() & (pl.col("variant").n_unique() == n_variants)
    everywhere = accepted.group_by("review_id").agg(in_every_variant.alias("analysed"))
    table = accepted.join(everywhere, on="review_id", how="left", maintain_order="left").select(*SIMILARITY_SCHEMA)
    if not table.is_empty() and not table["analysed"].any():
        raise HomogenizationError(_nothing_accepted(table, random_pairs, threshold, n_reviews))
    missing = [pl.lit(None, dtype=pl.Boolean).alias(name) for name in ("accepted", "analysed")]
    return pl.concat([table, _concatenated(random_pairs).with_columns(*missing)])


def _concatenated(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    chosen = (table.select(*SCORE_SCHEMA).cast(SCORE_SCHEMA) for table in tables)
    return pl.concat([pl.DataFrame(schema=SCORE_SCHEMA), *chosen])


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
        similarity: The table `similarity`; it lacks the reviews that a language model failed to rewrite.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample, the denominator of the rate.
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


def tabulate(inputs: Any, threshold: float, n_reviews: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `similarity` and `acceptance`.

    Args:
        inputs: `similarity` and `random_pairs`, paths of the scores.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample.
    """
    variants, random_pairs = (list(map(read_table, paths)) for paths in (inputs.similarity, inputs.random_pairs))
    similarity = similarity_table(variants, random_pairs, threshold, n_reviews)
    acceptance = acceptance_table(similarity, threshold, n_reviews)
    logging.info("%s", acceptance)
    return similarity, acceptance
