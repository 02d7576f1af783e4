"""The candidates of language models, each with its judgement, and the rates of rewriting by variant."""

import logging
from collections.abc import Iterable, Sequence

import polars as pl

from homogenization.corpus.sentences import words
from homogenization.names.columns import columns
from homogenization.run.parquet import read_table, read_tables
from homogenization.variants.schemas import JUDGEMENT_SCHEMA, REASONS

#: A row for each candidate of a language model, in the order of the requests. It exists if a language model rewrites a
#: variant. The texts are in `variants/{variant}/{shard}.candidates.parquet`.
CANDIDATES_SCHEMA = {
    **columns("variant", "review_id"),
    "candidate": pl.Int64,  #: number from 0. The first that passes is taken, and no further one is asked for
    "request": pl.String,  #: file name of the answer in `requests/`
    **JUDGEMENT_SCHEMA,
}
#: A row for each variant that a language model rewrote. A candidate is counted under the first reason that applies, in
#: the order of the columns.
REWRITING_SCHEMA = {
    **columns("variant"),
    "n_reviews": pl.Int64,  #: reviews of the sample
    "n_rewritten": pl.Int64,  #: reviews with a candidate that passed
    "rewriting_rate": pl.Float64,  #: the same as a fraction; below 1, the variant's reviews are a selection
    "n_candidates": pl.Int64,  #: candidates that were asked for
    #: candidates `truncated`: cut off at `max_new_tokens`; `malformed`: that are not the JSON that was asked for;
    #: `empty`: without a word; `identical`: with the words of the review in their order; `length`: outside
    #: `rewriting.length_ratio`; `coverage`: below `rewriting.min_coverage`; `position`: beyond
    #: `rewriting.max_distance`; `similarity`: below `rewriting.min_f1`
    **dict.fromkeys(REASONS, pl.Int64),
    "median_words_rewritten": pl.Float64,  #: median words of the reviews that were rewritten
    "median_words_rejected": pl.Float64,  #: median words of the other reviews
}
SCHEMAS = {"candidates": CANDIDATES_SCHEMA, "rewriting": REWRITING_SCHEMA}


def candidates_table(judged: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Every candidate of every variant with its judgement, without its text: `CANDIDATES_SCHEMA`."""
    tables = pl.concat([pl.DataFrame(schema=CANDIDATES_SCHEMA), *judged], how="diagonal_relaxed")
    return tables.select(*CANDIDATES_SCHEMA).cast(CANDIDATES_SCHEMA)


def rewriting_table(candidates: pl.DataFrame, reviews: pl.DataFrame, variants: Sequence[str]) -> pl.DataFrame:
    """How many reviews of each variant were rewritten, and why candidates were rejected (`REWRITING_SCHEMA`).

    The medians of words show whether the rejected reviews are longer: a language model that fails at long reviews
    leaves the short ones.

    Args:
        candidates: The table `candidates`.
        reviews: All reviews to rewrite, columns review_id and text.
        variants: Names of the variants, in the order of the table.
    """
    n_words = reviews.select(
        "review_id", n_words=pl.col("text").map_elements(lambda text: len(words(text)), return_dtype=pl.Int64)
    )
    passed = candidates.filter(pl.col("reason").is_null()).select("variant", "review_id")
    rewritten = passed.unique().with_columns(rewritten=True)
    named = pl.DataFrame({"variant": variants}, schema={"variant": pl.String})
    of_reviews = (
        named.join(n_words, how="cross")
        .join(rewritten, on=["variant", "review_id"], how="left", maintain_order="left")
        .with_columns(pl.col("rewritten").fill_null(False))
        .group_by("variant", maintain_order=True)
        .agg(
            pl.len().alias("n_reviews"),
            pl.col("rewritten").sum().alias("n_rewritten"),
            pl.col("rewritten").mean().alias("rewriting_rate"),
            pl.col("n_words").filter("rewritten").median().alias("median_words_rewritten"),
            pl.col("n_words").filter(~pl.col("rewritten")).median().alias("median_words_rejected"),
        )
    )
    of_candidates = candidates.group_by("variant").agg(
        pl.len().alias("n_candidates"), *((pl.col("reason") == reason).sum().alias(reason) for reason in REASONS)
    )
    joined = of_reviews.join(of_candidates, on="variant", how="left", maintain_order="left")
    counted = joined.with_columns(pl.col("n_candidates", *REASONS).fill_null(0))
    return counted.select(*REWRITING_SCHEMA).cast(REWRITING_SCHEMA)


def tabulate(
    shards: Sequence[str], candidates: Sequence[str], variants: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `candidates` and `rewriting`.

    Args:
        shards: Files of the reviews.
        candidates: Files of the judged candidates.
        variants: Names of the variants that language models write.
    """
    judged = candidates_table(map(read_table, candidates))
    rates = rewriting_table(judged, read_tables(shards), variants)
    logging.info("%s", rates)
    return judged, rates
