"""Tokens of texts: the configured opening token, and each token's place in its text."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from homogenization.run.errors import HomogenizationError
from homogenization.run.job import announce

if TYPE_CHECKING:  # a measure of a store has no tokenizer
    from transformers import PreTrainedTokenizerBase

_MOST_UNKNOWN = 0.1  # share of unknown tokens without a warning


@dataclass(frozen=True)
class Tokens:
    """Tokens of several reviews, end to end.

    Attributes:
        token_ids: ids in the tokenizer's vocabulary, int64 (tokens,).
        token_offsets: first and last character (exclusive) in the review's text, int32 (tokens, 2); (0, 0) for a token
            outside of the text, such as BOS.
        review_offsets: first token of each review, and the number of all tokens, int64 (reviews + 1,).
    """

    token_ids: np.ndarray
    token_offsets: np.ndarray
    review_offsets: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each review, int64 (reviews,)."""
        return np.diff(self.review_offsets)

    def offsets_of(self, index: int) -> np.ndarray:
        """Characters of the tokens of one review, int32 (its tokens, 2)."""
        return self.token_offsets[self.review_offsets[index] : self.review_offsets[index + 1]]

    @property
    def by_review(self) -> list[np.ndarray]:
        """Token ids of each review, int64 (its tokens,)."""
        return [self.token_ids[start:stop] for start, stop in pairwise(self.review_offsets)]

    def span(self, reviews: range) -> slice:
        """Where the tokens of neighbouring reviews stand."""
        return slice(*self.review_offsets[[reviews.start, reviews.stop]].tolist())

    @property
    def positions(self) -> np.ndarray:
        """Position of each token in its review, from 0, int32 (tokens,)."""
        starts = np.repeat(self.review_offsets[:-1], self.lengths)
        return (np.arange(len(self.token_ids)) - starts).astype(np.int32)


def opening_token_id(tokenizer: "PreTrainedTokenizerBase") -> int | None:
    """The token that opens a text: BOS, CLS in BERT's family, or what the tokenizer's post-processor puts there.

    None where the tokenizer has none of them. A post-processor may add a token that no file names.
    """
    for named in (tokenizer.bos_token_id, tokenizer.cls_token_id):
        if named is not None:
            return named
    read = tokenizer("a", return_special_tokens_mask=True, verbose=False)
    return read["input_ids"][0] if read["special_tokens_mask"][:1] == [1] else None


def tokenize(tokenizer: "PreTrainedTokenizerBase", review_ids: Sequence[str], texts: Sequence[str], bos: str) -> Tokens:
    """Turn whole texts, which may be none, into tokens.

    BOS (or CLS in BERT's family) opens a text as `bos` says: `default` (as the tokenizer does), `always` or `never`;
    the tokenizer decides on other special tokens.

    Raises:
        HomogenizationError: a text has no token.
    """
    if not texts:
        no_tokens = np.empty(0, dtype=np.int64)
        return Tokens(no_tokens, np.empty((0, 2), dtype=np.int32), np.zeros(1, dtype=np.int64))
    encoded = tokenizer(
        list(texts),
        add_special_tokens=True,
        padding=False,
        truncation=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=True,
        verbose=False,
    )
    opening = opening_token_id(tokenizer)
    token_ids, token_offsets = [], []
    for review_id, ids, offsets in zip(review_ids, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        ids, offsets = _with_bos_policy(ids, offsets, bos, opening)
        if not ids:
            raise HomogenizationError(f"review {review_id}: its text gives no token. Remove it from the corpus.")
        token_ids.append(ids)
        token_offsets.append(offsets)
    _tell_unknown(np.concatenate(token_ids), tokenizer)
    return Tokens(
        np.concatenate(token_ids).astype(np.int64),
        np.concatenate(token_offsets).astype(np.int32),
        np.cumsum([0, *map(len, token_ids)]).astype(np.int64),
    )


def _tell_unknown(token_ids: np.ndarray, tokenizer: "PreTrainedTokenizerBase") -> None:
    """Warn of texts whose script the vocabulary does not have: their tokens are equal, whatever they say."""
    share = np.mean(token_ids == tokenizer.unk_token_id) if tokenizer.unk_token_id is not None else 0.0
    if share > _MOST_UNKNOWN:
        announce(
            f"{share:.0%} of the texts' tokens are unknown to the tokenizer ({tokenizer.unk_token}): the model can't "
            "read them. Take a model of the texts' language and script."
        )


def _with_bos_policy(
    ids: list[int], offsets: list[tuple[int, int]], bos: str, bos_token_id: int | None
) -> tuple[list[int], list[tuple[int, int]]]:
    opened = bool(ids) and ids[0] == bos_token_id
    if bos == "always" and not opened:
        return [bos_token_id, *ids], [(0, 0), *offsets]
    if bos == "never" and opened:
        return ids[1:], offsets[1:]
    return ids, offsets
