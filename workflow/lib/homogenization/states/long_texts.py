"""Reviews longer than a model reads: cut at a sentence end that their variants share, or left out for this model.

A pair of variants is compared review by review, so both windows have to hold the same sentences. Where a review is cut
follows from its original alone: no variant needs to know the others, and a new variant changes no window.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Protocol

import numpy as np
import polars as pl
from transformers import PreTrainedTokenizerBase

from homogenization.corpus.sentences import sentence_spans, word_spans, words
from homogenization.models.tokens import Tokens, tokenize
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table

logger = logging.getLogger(__name__)

_ROOM = (
    0.9  # of max_tokens, for the original's window: a moved phrase is cut into other tokens (at most 9 % more, seen)
)
_REST_OF_CHUNK = re.compile(r"\S*(?:\s+[.!?…)\]]+(?!\S))*")  # and full stops that stand alone


class Reader(Protocol):
    """How a model reads a text.

    Attributes:
        tokenizer: fast tokenizer.
        bos: first token (`homogenization.models.tokens.tokenize`).
        max_tokens: most tokens of a text, with special ones.
        long_texts: what is done with a review whose original is too long, `common_sentence_end` or `leave_out`.
    """

    tokenizer: PreTrainedTokenizerBase
    bos: str
    max_tokens: int
    long_texts: str


@dataclass(frozen=True)
class Texts:
    """Reviews of one variant.

    Attributes:
        review_ids: their names.
        texts: their texts in this variant, in the same order.
        originals: their original texts, in the same order; None where `texts` are the originals.
    """

    review_ids: Sequence[str]
    texts: Sequence[str]
    originals: Sequence[str] | None = None

    @classmethod
    def of_files(cls, variant: str, original: str) -> "Texts":
        """The reviews in a file of a variant, with those of the same names in a file of originals."""
        reviews = with_originals(read_table(variant), read_table(original))
        return cls(*(reviews[name].to_list() for name in ("review_id", "text", "original")))


@dataclass(frozen=True)
class Windows:
    """What a model reads of the reviews of one variant.

    Attributes:
        review_ids: reviews that are read, in their order.
        tokens: their tokens, cut where a review is cut; `tokens_before_truncation` are those of the whole texts.
        n_cut: reviews that are cut.
        n_left_out: reviews that are not read.
    """

    review_ids: list[str]
    tokens: Tokens
    n_cut: int
    n_left_out: int

    @property
    def n_tokens_cut_off(self) -> int:
        """Tokens of the read reviews that lie behind their cuts."""
        return int((self.tokens.tokens_before_truncation - self.tokens.lengths).sum())


def windows(
    reader: Reader, review_ids: Sequence[str], texts: Sequence[str], originals: Sequence[str] | None = None
) -> Windows:
    """The tokens of reviews of one variant, each review of at most `max_tokens`.

    A review whose original fits is whole in every variant. If its original is too long, `common_sentence_end` cuts all
    its variants behind the last sentence that ends within nine tenths of `max_tokens` in the original, and `leave_out`
    leaves it out. A review is left out of a variant, too, whose own text (or window) is longer than `max_tokens`, or
    has no sentence end that corresponds to the original's.

    Args:
        reader: the model's tokenizer, and how it is used.
        review_ids: names of the reviews.
        texts: their texts in this variant, in the same order.
        originals: their original texts, in the same order; None where `texts` are the originals.

    Raises:
        HomogenizationError: a text has no token, or no original can be read.
    """

    def tokens_of(indices: Sequence[int], of: Sequence[str]) -> Tokens:
        return tokenize(reader.tokenizer, [review_ids[i] for i in indices], [of[i] for i in indices], reader.bos)

    is_original = originals is None or list(originals) == list(texts)
    originals = texts if is_original else originals
    whole = tokens_of(range(len(texts)), texts)
    of_originals = whole if is_original else tokens_of(range(len(texts)), originals)
    room = int(_ROOM * reader.max_tokens) if reader.long_texts == "common_sentence_end" else 0
    read = list(texts)
    for index in np.flatnonzero(of_originals.lengths > reader.max_tokens):
        n_sentences = _sentences_within(originals[index], of_originals.offsets_of(index), room)
        read[index] = _cut(texts[index], originals[index], n_sentences)
    shortened = [index for index, text in enumerate(read) if text != ""]
    fits = tokens_of(shortened, read).lengths <= reader.max_tokens
    kept = list(compress(shortened, fits))
    if is_original and texts and not kept:
        raise HomogenizationError(
            f"max_tokens: none of the {len(texts)} originals fits into {reader.max_tokens} tokens with 'long_texts: "
            f"{reader.long_texts}'. Raise max_tokens of this model, up to its context, or lower corpus.max_words."
        )
    tokens = replace(tokens_of(kept, read), tokens_before_truncation=whole.lengths[kept])
    windows = Windows(
        [review_ids[index] for index in kept],
        tokens,
        n_cut=sum(read[index] != texts[index] for index in kept),
        n_left_out=len(texts) - len(kept),
    )
    if windows.n_cut or windows.n_left_out:
        logger.warning(
            "max_tokens: %d of %d reviews are longer than %d tokens: %d are cut at a sentence end (%d tokens less), "
            "%d are left out",
            windows.n_cut + windows.n_left_out,
            len(texts),
            reader.max_tokens,
            windows.n_cut,
            windows.n_tokens_cut_off,
            windows.n_left_out,
        )
    return windows


def with_originals(reviews: pl.DataFrame, originals: pl.DataFrame) -> pl.DataFrame:
    """The reviews of a variant with a column `original`: the text of the same review among `originals`."""
    return reviews.join(
        originals.select("review_id", original="text"), on="review_id", how="left", maintain_order="left"
    )


def _sentences_within(text: str, token_offsets: np.ndarray, n_tokens: int) -> int:
    """How many sentences of `text` end within its first `n_tokens` tokens, special ones among them.

    Args:
        text: the text.
        token_offsets: first and last character of each token, (tokens, 2); (0, 0) for a special token.
        n_tokens: number of tokens.
    """
    special = token_offsets[:, 1] == 0
    counts = [special.sum() + (token_offsets[~special, 0] < end).sum() for _, end in sentence_spans(text)]
    return int(np.searchsorted(counts, n_tokens, side="right"))


def _cut(text: str, original: str, n_sentences: int) -> str:
    """`text` up to where the first `n_sentences` sentences of `original` end in it; "" where that is nowhere.

    Rules keep the words of a sentence: it ends behind as many words as in the original, if they are the same words in
    any order. Otherwise, as in a text by a language model, sentence k is sentence k, if both have as many.
    """
    if n_sentences == 0:
        return ""
    spans, other = sentence_spans(original), word_spans(text)
    first = original[: spans[n_sentences - 1][1]]
    n_words = len(word_spans(first))
    if 0 < n_words <= len(other):
        end = _REST_OF_CHUNK.match(text, other[n_words - 1][1]).end()
        if Counter(words(text[:end])) == Counter(words(first)):
            return text[:end]
    own = sentence_spans(text)
    return text[: own[n_sentences - 1][1]] if len(own) == len(spans) else ""
