"""The candidates of language models, each with its judgement, and the rates of rewriting by variant."""

import logging
from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.corpus.sentences import words
from homogenization.run.parquet import read_table, read_tables
from homogenization.variants.refusals import CANDIDATE_SCHEMA, REASONS

CANDIDATES_SCHEMA = {column: dtype for column, dtype in CANDIDATE_SCHEMA.items() if column != "text"}
REWRITING_SCHEMA = {
    "variant": pl.String,
    "n_reviews": pl.Int64,
    "n_rewritten": pl.Int64,
    "rewriting_rate": pl.Float64,
    "n_candidates": pl.Int64,
    **dict.fromkeys(REASONS, pl.Int64),
    "median_words_rewritten": pl.Float64,
    "median_words_rejected": pl.Float64,
}


def candidates_table(judged: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Every candidate of every variant with its judgement: the table `candidates` (`CANDIDATES_SCHEMA`).

    Args:
        judged: Candidates from `rewrite_with_llm`; their texts are left out.
    """
    parts = [table.select(*CANDIDATES_SCHEMA).cast(CANDIDATES_SCHEMA) for table in judged]
    return pl.concat([pl.DataFrame(schema=CANDIDATES_SCHEMA), *parts])


def rewriting_table(candidates: pl.DataFrame, reviews: pl.DataFrame) -> pl.DataFrame:
    """How many reviews of each variant were rewritten, and why candidates were rejected (`REWRITING_SCHEMA`).

    The medians of words show whether the rejected reviews are longer: a language model that fails at long reviews
    leaves the short ones.

    Args:
        candidates: The table `candidates`.
        reviews: All reviews to rewrite, columns review_id and text.
    """
    n_words = reviews.select(
        "review_id", n_words=pl.col("text").map_elements(lambda text: len(words(text)), return_dtype=pl.Int64)
    )
    passed = pl.col("reason").is_null()
    by_review = (
        candidates.group_by("variant", "review_id", maintain_order=True)
        .agg(passed.any().alias("rewritten"))
        .join(n_words, on="review_id", how="left", maintain_order="left")
    )
    of_reviews = by_review.group_by("variant", maintain_order=True).agg(
        pl.len().alias("n_reviews"),
        pl.col("rewritten").sum().alias("n_rewritten"),
        pl.col("rewritten").mean().alias("rewriting_rate"),
        pl.col("n_words").filter("rewritten").median().alias("median_words_rewritten"),
        pl.col("n_words").filter(~pl.col("rewritten")).median().alias("median_words_rejected"),
    )
    of_candidates = candidates.group_by("variant", maintain_order=True).agg(
        pl.len().alias("n_candidates"), *((pl.col("reason") == reason).sum().alias(reason) for reason in REASONS)
    )
    joined = of_reviews.join(of_candidates, on="variant", how="left", maintain_order="left")
    return joined.select(*REWRITING_SCHEMA).cast(REWRITING_SCHEMA)


def tabulate(inputs: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `candidates` and `rewriting`.

    Args:
        inputs: `candidates`, paths of the judged candidates; `shards`, paths of the reviews.
    """
    candidates = candidates_table([read_table(path) for path in inputs.candidates])
    rates = rewriting_table(candidates, read_tables(inputs.shards))
    logging.info("%s", rates)
    return candidates, rates
