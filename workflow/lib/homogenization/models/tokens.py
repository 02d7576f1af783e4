"""A model's tokenizer, and the tokens of texts with their places in them.

Jobs that read stored tokens import this module too, so transformers is imported where a tokenizer is loaded.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from homogenization.models.weights import failure
from homogenization.run.errors import HomogenizationError
from homogenization.run.log import announce

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# what the files beside tokenizer.json say of a tokenizer, besides the names of special tokens
_SETTINGS = ("model_max_length", "chat_template", "clean_up_tokenization_spaces", "name_or_path")
_MOST_UNKNOWN = 0.1  # share of unknown tokens without a warning


def load_tokenizer(folder: Path, bos: str = "default") -> "PreTrainedTokenizerBase":
    """The fast tokenizer in `folder`; with `bos: always`, config.json may name the token that opens a text (Qwen2.5).

    Raises:
        HomogenizationError: no fast tokenizer can be loaded, a token has no row in the embedding, or `bos` is `always`
            and no file names a BOS token.
    """
    from transformers import AutoTokenizer

    from homogenization.models.loading import load_config

    config = load_config(folder)
    with failure(f"{folder}: no tokenizer can be loaded; fetch its files, such as tokenizer.json, again"):
        whole = (folder / "tokenizer.json").is_file()
        tokenizer = _of_file(folder) if whole else AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise HomogenizationError(f"{folder}: {type(tokenizer).__name__} gives no offsets. Add a tokenizer.json.")
    if bos == "always" and not opening_ids(tokenizer):
        # of the file itself: transformers has defaults that the model may not know
        number = json.loads((folder / "config.json").read_text("utf-8")).get("bos_token_id")
        if not isinstance(number, int) or not 0 <= number < len(tokenizer):
            raise HomogenizationError(
                f"bos: 'always', but neither the tokenizer in {folder} nor its config.json (bos_token_id) names a "
                "token of the vocabulary. Use default or never."
            )
        tokenizer.bos_token = tokenizer.convert_ids_to_tokens(number)
    _check_rows(tokenizer, getattr(config.get_text_config(), "vocab_size", None), folder)
    return tokenizer


def _of_file(folder: Path) -> "PreTrainedTokenizerBase":
    """The tokenizer in tokenizer.json, with the names of special tokens and the settings that stand beside it.

    This file alone says how a text becomes tokens: transformers makes many classes anew from vocabulary and merges,
    with a normaliser and a pre-tokenizer that the model need not have learnt with.
    """
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    beside = PreTrainedTokenizerFast.from_pretrained(folder)
    for name in tokenizer.SPECIAL_TOKENS_ATTRIBUTES:
        token = getattr(beside, name)
        # a token that the file does not have would be added behind the last row of the embedding
        known = token is not None and tokenizer.backend_tokenizer.token_to_id(token) is not None
        setattr(tokenizer, name, token if known else None)
    for name in _SETTINGS:
        setattr(tokenizer, name, getattr(beside, name))
    return tokenizer


def _check_rows(tokenizer: "PreTrainedTokenizerBase", n_rows: int | None, folder: Path) -> None:
    """Refuse tokens of texts without one of the embedding's rows; special ones do no harm (Gemma 3's for images)."""
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    of_texts = {*tokenizer.get_vocab().values()} - (special - {*tokenizer("")["input_ids"]})
    if beyond := sorted(number for number in of_texts if n_rows is not None and number >= n_rows):
        shown = ", ".join(f"{tokenizer.convert_ids_to_tokens(number)!r} ({number})" for number in beyond[:3])
        raise HomogenizationError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, and the embedding {n_rows} rows (vocab_size), so "
            f"the model has no vector for {shown}. Take the tokenizer that the model has learnt with."
        )


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

    @property
    def by_review(self) -> list[np.ndarray]:
        """Token ids of each review, int64 (its tokens,)."""
        return [self.token_ids[start:stop] for start, stop in pairwise(self.review_offsets)]

    @property
    def positions(self) -> np.ndarray:
        """Position of each token in its review, from 0, int32 (tokens,)."""
        return (np.arange(len(self.token_ids)) - np.repeat(self.review_offsets[:-1], self.lengths)).astype(np.int32)

    def span(self, review: int) -> slice:
        """Where the tokens of a review stand."""
        return slice(*self.review_offsets[review : review + 2].tolist())


def opening_ids(tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """The tokens that open a text: those that the tokenizer puts before one, or else BOS, or CLS; [] for none."""
    read = tokenizer("a", return_special_tokens_mask=True, verbose=False)
    put = takewhile(itemgetter(1), zip(read["input_ids"], read["special_tokens_mask"], strict=True))
    named = [number for number in (tokenizer.bos_token_id, tokenizer.cls_token_id) if number is not None]
    return [number for number, _ in put] or named[:1]


def tokenize(tokenizer: "PreTrainedTokenizerBase", review_ids: Sequence[str], texts: Sequence[str], bos: str) -> Tokens:
    """Turn whole texts, which may be none, into tokens.

    The opening tokens stand as `bos` says: as the tokenizer does (`default`), `always` or `never`. A text without a
    token is refused.
    """
    opening = opening_ids(tokenizer)
    token_ids, token_offsets = [np.empty(0, np.int64)], [np.empty((0, 2), np.int32)]
    for review_id, text in zip(review_ids, texts, strict=True):
        read = tokenizer(text, return_offsets_mapping=True, verbose=False)
        ids, offsets = read["input_ids"], read["offset_mapping"]
        opened = ids[: len(opening)] == opening
        if bos == "always" and not opened:
            ids, offsets = [*opening, *ids], [*[(0, 0)] * len(opening), *offsets]
        if bos == "never" and opened:
            ids, offsets = ids[len(opening) :], offsets[len(opening) :]
        if not ids:
            raise HomogenizationError(f"review {review_id}: its text gives no token. Remove it from the corpus.")
        token_ids.append(np.asarray(ids, np.int64))
        token_offsets.append(np.asarray(offsets, np.int32))
    tokens = Tokens(np.concatenate(token_ids), np.concatenate(token_offsets), np.cumsum([*map(len, token_ids)]))
    # files beside tokenizer.json need not name it (BERT's)
    name = tokenizer.unk_token or getattr(tokenizer.backend_tokenizer.model, "unk_token", None)
    unknown = np.mean(tokens.token_ids == tokenizer.convert_tokens_to_ids(name)) if texts and name else 0.0
    if unknown > _MOST_UNKNOWN:
        announce(
            f"{unknown:.0%} of the texts' tokens are unknown to the tokenizer ({name}): the model can't "
            "read them. Take a model of the texts' language and script."
        )
    return tokens
