"""How similar rewritten reviews are to the originals, and which of them are accepted."""

import logging
from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.run.parquet import read_table
from homogenization.variants.names import RANDOM_PAIRS
from homogenization.variants.schemas import SCORE_SCHEMA

SIMILARITY_SCHEMA = {**SCORE_SCHEMA, "accepted": pl.Boolean}
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
    variants: Sequence[pl.DataFrame], random_pairs: Sequence[pl.DataFrame], threshold: float
) -> pl.DataFrame:
    """Scores of all variants and of random pairs: the table `similarity` (`SIMILARITY_SCHEMA`).

    A rewritten review is accepted where its F1 is at least `threshold`. This is null for random pairs.

    Args:
        variants: Scores of variants, columns of `SCORE_SCHEMA`.
        random_pairs: Scores of random pairs of reviews.
        threshold: Least F1 of an accepted review.
    """
    # a missing score accepts nothing; polars counts NaN as larger than any number
    accepted = (pl.col("f1").fill_nan(None) >= threshold).fill_null(False)
    table = _concatenated(variants).with_columns(accepted.alias("accepted"))
    missing = pl.lit(None, dtype=pl.Boolean).alias("accepted")
    return pl.concat([table, _concatenated(random_pairs).with_columns(missing)])


def _concatenated(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    chosen = (table.select(*SCORE_SCHEMA).cast(SCORE_SCHEMA) for table in tables)
    return pl.concat([pl.DataFrame(schema=SCORE_SCHEMA), *chosen])


def acceptance_table(
    similarity: pl.DataFrame, variants: Sequence[str], threshold: float, n_reviews: int
) -> pl.DataFrame:
    """Acceptance by variant, beside the median F1 of random pairs: the table `acceptance` (`ACCEPTANCE_SCHEMA`).

    Args:
        similarity: The table `similarity`; it lacks the reviews that a language model failed to rewrite.
        variants: Names of the rewritten variants, one row for each; one without scores has null means.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample, the denominator of the rate.
    """
    counted = similarity.group_by("variant").agg(
        pl.len().alias("n_rewritten"),
        pl.col("accepted").sum().alias("n_accepted"),
        pl.col("f1").mean().alias("mean_f1"),
        pl.col("f1").median().alias("median_f1"),
    )
    baseline = similarity.filter(pl.col("variant") == RANDOM_PAIRS)["f1"].median()
    return (
        pl.DataFrame({"variant": list(variants)}, schema={"variant": pl.String})
        .join(counted, on="variant", how="left", maintain_order="left")
        .with_columns(pl.col("n_rewritten", "n_accepted").fill_null(0))
        .with_columns(
            pl.lit(n_reviews).alias("n_reviews"),
            (pl.col("n_accepted") / n_reviews).alias("acceptance_rate"),
            pl.lit(baseline, dtype=pl.Float64).alias("baseline_median_f1"),
            pl.lit(threshold, dtype=pl.Float64).alias("threshold"),
        )
        .select(*ACCEPTANCE_SCHEMA)
        .cast(ACCEPTANCE_SCHEMA)
    )


def _warn_of_rejection(acceptance: pl.DataFrame) -> None:
    """Warn of the variants of which the threshold rejects more reviews than it accepts."""
    for row in acceptance.filter(2 * pl.col("n_accepted") < pl.col("n_rewritten")).iter_rows(named=True):
        baseline = row["baseline_median_f1"]
        unrelated = "" if baseline is None else f"; that of unrelated reviews is {baseline:.3f}"
        logging.warning(
            "similarity.threshold: %s accepts %d of the %d rewritten reviews of %s, whose median F1 is %.3f%s. A "
            "threshold belongs to its encoder and layer: choose it from figures/similarity.svg. Only tables and "
            "figures are computed again.",
            row["threshold"],
            row["n_accepted"],
            row["n_rewritten"],
            row["variant"],
            row["median_f1"],
            unrelated,
        )


def tabulate(
    inputs: Any, variants: Sequence[str], threshold: float, n_reviews: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `similarity` and `acceptance`.

    Args:
        inputs: `similarity` and `random_pairs`, paths of the scores.
        variants: Names of the rewritten variants.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample.
    """
    scores, random_pairs = (list(map(read_table, paths)) for paths in (inputs.similarity, inputs.random_pairs))
    similarity = similarity_table(scores, random_pairs, threshold)
    acceptance = acceptance_table(similarity, variants, threshold, n_reviews)
    logging.info("%s", acceptance)
    _warn_of_rejection(acceptance)
    return similarity, acceptance
