"""Numbers of tokens that a model will read: its tokenizer is run on the texts."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from homogenization.models.loading import checked_max_tokens, load_config
from homogenization.models.tokenizer import load_tokenizer
from homogenization.names.columns import columns
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_table
from homogenization.states.long_texts import Texts, tokens_read

#: A row for each planned extraction. `plan/{model}.json` describes the network.
TOKEN_COUNTS_SCHEMA = {
    **columns("variant", "shard"),
    "counted_as": pl.String,  #: the variant whose texts were counted
    "lengths": pl.List(pl.Int64),  #: tokens of each review that is read
    "n_left_out": pl.Int64,  #: reviews that are too long and will not be read
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
        texts: Path of the table of texts of each job, among them the originals of its shard. A repeated path is read
            once.

    Raises:
        HomogenizationError: no fast tokenizer, no known context, a text without tokens.
    """
    folder = Path(folder)
    tokenizer = load_tokenizer(folder, model["bos"])
    max_tokens = checked_max_tokens(model, load_config(folder), tokenizer, folder)
    reader = SimpleNamespace(tokenizer=tokenizer, max_tokens=max_tokens, bos=model["bos"])
    reviews = {path: dict(read_table(path).select("review_id", "text").iter_rows()) for path in dict.fromkeys(texts)}
    original = {job[1]: reviews[path] for job, path in zip(jobs, texts, strict=True) if job[2] == ORIGINAL}

    @cache
    def counts(path: str, shard: str) -> dict[str, Any]:
        names = list(reviews[path])
        texts = Texts(names, list(reviews[path].values()), [original[shard][name] for name in names])
        read, tokens = tokens_read(reader, texts)
        return {"lengths": tokens.lengths, "n_left_out": len(names) - len(read)}

    rows = [
        {"variant": variant, "shard": shard, "counted_as": counted_as, **counts(path, shard)}
        for (variant, shard, counted_as), path in zip(jobs, texts, strict=True)
    ]
    return pl.DataFrame(rows, schema=TOKEN_COUNTS_SCHEMA)
