"""A review that is longer than a model reads, in its original or in the variant itself, is left out for this model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from homogenization.models.tokens import Tokens, tokenize
from homogenization.run.errors import HomogenizationError
from homogenization.run.log import announce
from homogenization.run.parquet import read_table

FEWEST = 16  # originals of which one at least is short enough


@dataclass(frozen=True)
class Texts:
    """Reviews of one variant, and their originals in the same order; None where `texts` are the originals."""

    review_ids: Sequence[str]
    texts: Sequence[str]
    originals: Sequence[str] | None = None

    @classmethod
    def of_files(cls, variant: str, original: str, n_reviews: int | None = None) -> "Texts":
        """The reviews in a file of a variant, those of the first `n_reviews` originals by rank, in a file beside it."""
        originals = read_table(original)
        if n_reviews is not None:
            originals = originals.sort("rank").head(n_reviews)
        named = originals.select("review_id", original="text")
        reviews = read_table(variant).join(named, on="review_id", maintain_order="left")
        return cls(*(reviews[name].to_list() for name in ("review_id", "text", "original")))


def tokens_read(reader: Any, texts: Texts) -> tuple[list[str], Tokens]:
    """The reviews that a model reads, in their order, and their tokens; of it, `tokenizer`, `bos` and `max_tokens`.

    A shard whose originals are all too long gives none, and a warning.

    Raises:
        HomogenizationError: a text has no token, or none of 16 originals or more can be read.
    """

    def tokens_of(indices: Sequence[int], of: Sequence[str]) -> Tokens:
        return tokenize(reader.tokenizer, [texts.review_ids[i] for i in indices], [of[i] for i in indices], reader.bos)

    originals = texts.texts if texts.originals is None else texts.originals
    every = range(len(texts.texts))
    read = tokens_of(every, texts.texts)
    of_originals = read if list(originals) == list(texts.texts) else tokens_of(every, originals)
    fits = of_originals.lengths <= reader.max_tokens
    if len(every) and not fits.any():
        told = (
            f"none of the {len(every)} originals fits into {reader.max_tokens} tokens, the context of the model. Lower "
            "corpus.max_words, or take a model with a longer context."
        )
        if len(every) >= FEWEST:
            raise HomogenizationError(told)
        announce(told)  # the last shard may hold few
    kept = np.flatnonzero(fits & (read.lengths <= reader.max_tokens)).tolist()
    return [texts.review_ids[index] for index in kept], read if len(kept) == len(every) else tokens_of(
        kept, texts.texts
    )
