"""The rates of rewriting by variant that a language model writes, and why candidates were rejected."""

import logging
from collections.abc import Sequence

import polars as pl

from homogenization.corpus.sentences import words
from homogenization.names.columns import columns
from homogenization.run.parquet import read_tables
from homogenization.variants.schemas import REASONS

#: A row for each variant that a language model rewrote. A candidate is counted under the first reason that applies, in
#: the order of the columns; the files `variants/{variant}/{shard}.candidates.parquet` have each with its judgement.
REWRITING_SCHEMA = {
    **columns("variant"),
    "n_reviews": pl.Int64,  #: reviews of the sample
    "n_rewritten": pl.Int64,  #: reviews with a candidate that passed
    "rewriting_rate": pl.Float64,  #: the same as a fraction; below 1, the variant's reviews are a selection
    "n_candidates": pl.Int64,  #: candidates that were asked for
    #: candidates `truncated`: cut off at `max_new_tokens`; `malformed`: that are not the JSON that was asked for;
    #: `empty`: without a word; `identical`: with the words of the review in their order; `length`: with too few or too
    #: many words; `coverage`: with too few of the key phrases; `position`: with these too far from their side
    **dict.fromkeys(REASONS, pl.Int64),
    "median_words_rewritten": pl.Float64,  #: median words of the reviews that were rewritten
    "median_words_rejected": pl.Float64,  #: median words of the others: a model that fails at long reviews leaves these
}
SCHEMAS = {"rewriting": REWRITING_SCHEMA}


def tabulate(shards: Sequence[str], candidates: Sequence[str], variants: Sequence[str]) -> pl.DataFrame:
    """The table `rewriting` of these `variants`, from files of the reviews and of the judged candidates."""
    reviews, judged = read_tables(shards), read_tables(candidates)
    n_words = pl.Series("n_words", [len(words(text)) for text in reviews["text"]], dtype=pl.Int64)
    passed = judged.filter(pl.col("reason").is_null()).select("variant", "review_id").unique()
    every = pl.DataFrame({"variant": variants}, columns("variant")).join(
        reviews.select("review_id", n_words), how="cross", maintain_order="left"
    )
    every = every.join(passed.with_columns(done=True), on=["variant", "review_id"], how="left", maintain_order="left")
    done = pl.col("done").fill_null(False)
    of_reviews = every.group_by("variant", maintain_order=True).agg(
        n_reviews=pl.len(),
        n_rewritten=done.sum(),
        rewriting_rate=done.mean(),
        median_words_rewritten=pl.col("n_words").filter(done).median(),
        median_words_rejected=pl.col("n_words").filter(~done).median(),
    )
    counts = judged.group_by("variant").agg(
        n_candidates=pl.len(), **{reason: (pl.col("reason") == reason).sum() for reason in REASONS}
    )
    table = of_reviews.join(counts, on="variant", how="left", maintain_order="left")
    rates = table.with_columns(pl.col("n_candidates", *REASONS).fill_null(0)).select(*REWRITING_SCHEMA)
    logging.info("%s", rates)
    return rates.cast(REWRITING_SCHEMA)
