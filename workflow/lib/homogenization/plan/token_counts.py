"""Numbers of tokens that a model will read: its tokenizer is run on the texts, cut where extraction cuts them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from homogenization.models.loading import checked_max_tokens, load_config, load_tokenizer
from homogenization.models.tokens import tokenize
from homogenization.run.parquet import read_table

# a row for each job; the lists hold a number for each review
TOKEN_COUNTS_SCHEMA = {
    "variant": pl.String,
    "shard": pl.String,
    "counted_as": pl.String,
    "lengths": pl.List(pl.Int64),
    "lengths_before_truncation": pl.List(pl.Int64),
}


def token_counts(
    folder: str | Path, model: Mapping[str, Any], jobs: Sequence[Sequence[str]], texts: Sequence[str]
) -> pl.DataFrame:
    """Tokens of every review of every job: the table `token_counts` (`TOKEN_COUNTS_SCHEMA`).

    Args:
        folder: Folder of the model's configuration and tokenizer.
        model: `bos` and `max_tokens` (None: the model's context) of the model's entry.
        jobs: (variant, shard, counted_as); `counted_as` is the variant whose texts are counted, `original` for a
            variant that is not written yet.
        texts: Path of the table of texts of each job. A repeated path is read once.

    Raises:
        HomogenizationError: no fast tokenizer, no known context, a text without tokens.
    """
    folder = Path(folder)
    tokenizer = load_tokenizer(folder)
    max_tokens = checked_max_tokens(model, load_config(folder), tokenizer, folder)

    def lengths(path: str) -> dict[str, np.ndarray]:
        reviews = read_table(path)
        tokens = tokenize(
            tokenizer, reviews["review_id"].to_list(), reviews["text"].to_list(), model["bos"], max_tokens
        )
        return {"lengths": tokens.lengths, "lengths_before_truncation": tokens.tokens_before_truncation}

    counted = {path: lengths(path) for path in dict.fromkeys(texts)}
    rows = [
        {"variant": variant, "shard": shard, "counted_as": counted_as, **counted[path]}
        for (variant, shard, counted_as), path in zip(jobs, texts, strict=True)
    ]
    return pl.DataFrame(rows, schema=TOKEN_COUNTS_SCHEMA)
