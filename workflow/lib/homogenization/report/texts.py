"""The section of texts: what its script reads, and one sentence of the corpus in each variant."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from homogenization.names.variants import ORIGINAL

Texts = Mapping[str, Mapping[str, str]]  # by review and variant
_MISSING = 255  # no number
_STEPS, _LOWEST = 12, -6  # of a ratio: bytes to a doubling, and the doublings that byte 0 stands for
_KEYS = ("model", "review_id", "variant")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W\d_a-z])")
_SHORTEST, _LONGEST = 6, 14  # words of a sentence that is shown


def text_data(
    tables: Mapping[str, pl.DataFrame], chosen: Sequence[tuple[str, str]], texts: Texts, phrases: Mapping[str, Any]
) -> dict[str, Any]:
    """The tokens of the chosen reviews in each model and variant, for JSON.

    Args:
        tables: `texts` and `tokens` as models read them (`measures.measure`), of the chosen reviews alone.
        chosen: (review_id, which it is) of each review.
        texts: the texts themselves.
        phrases: the key phrases of each review.

    Returns:
        `layers` of each model; `reviews`; `texts` by model, review and variant: `tokens`, `outside` (none of the
        text's) and `phrase` (in a key phrase) of each, `n` tokens in all, and `at`, the place of its first byte;
        `bytes`, base64: of a text, layer after layer, a byte a token for each of cosine (its angle, 254 for π), norm
        and attention (logarithms of ratios to the base 2, in steps from `_LOWEST`); 255 for no number.
    """
    layers = dict(tables["tokens"].group_by("model").agg(pl.col("layer").unique().sort()).rows())
    found: dict[str, Any] = {}
    packed = bytearray()
    of_layers = tables["tokens"].sort("layer").partition_by(*_KEYS, as_dict=True)
    for read in tables["texts"].sort(_KEYS).iter_rows(named=True):
        model, review_id, variant = key = tuple(read[name] for name in _KEYS)
        text, rows = texts[review_id][variant], of_layers[key].to_dicts()
        offsets = np.column_stack([read["token_starts"], read["token_ends"]])[: len(rows[0]["norm"])]
        spans = phrase_spans(text, phrases.get(review_id, ()))
        found.setdefault(model, {}).setdefault(review_id, {})[variant] = {
            "tokens": pieces(text, offsets),
            "outside": [int(end == 0) for _, end in offsets],
            "phrase": [int(any(start < last and first < end for first, last in spans)) for start, end in offsets],
            "n": read["n_tokens"],
            "at": len(packed),
        }
        packed += b"".join(
            as_bytes(row[name], angle=name == "cosine_to_mean")
            if row[name] is not None
            else bytes([_MISSING]) * len(offsets)
            for row in rows
            for name in ("cosine_to_mean", "norm", "attention")
        )
    shown = {"layers": layers, "reviews": chosen, "texts": found, "steps": [_STEPS, _LOWEST], "original": ORIGINAL}
    return shown | {"bytes": base64.b64encode(packed).decode()}


def as_bytes(values: Sequence[float], angle: bool) -> bytes:
    """A byte for each number: the angle of a cosine, or the logarithm of a ratio."""
    given = np.asarray(values, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.arccos(np.clip(given, -1, 1)) / np.pi * 254 if angle else _STEPS * (np.log2(given) - _LOWEST)
    return np.where(np.isnan(given), _MISSING, np.clip(np.rint(steps), 0, 254)).astype(np.uint8).tobytes()


def pieces(text: str, offsets: np.ndarray) -> list[str]:
    """The text of each token with the blanks before it: together, `text` up to the last of them.

    A token that covers no further character, such as one outside of the text, or the second of the bytes of a
    character, has an empty text.

    Args:
        text: the text.
        offsets: (tokens, 2) first and last character of each token; (0, 0) outside of the text.
    """
    ends = [0, *np.maximum.accumulate(offsets[:, 1]).tolist()]
    return [text[start:end] for start, end in pairwise(ends)]


def phrase_spans(text: str, phrases: Iterable[str]) -> list[tuple[int, int]]:
    """Where phrases stand in a text as words of it, whatever their case: (start, end) in characters, longest first."""
    ordered = sorted(set(phrases), key=len, reverse=True)
    words = (r"\W+".join(map(re.escape, phrase.split())).replace("'", "['’]") for phrase in ordered)
    pattern = "|".join(words)
    return [found.span() for found in re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.I)] if pattern else []


def underlined(text: str, phrases: Iterable[str]) -> list[tuple[str, bool]]:
    """`text` in parts, and whether each is a key phrase."""
    cuts = [0, *(cut for span in phrase_spans(text, phrases) for cut in span), len(text)]
    return [(text[start:end], place % 2 == 1) for place, (start, end) in enumerate(pairwise(cuts)) if start < end]


def one_sentence(
    texts: Texts, phrases: Mapping[str, Sequence[str]], variants: Sequence[str]
) -> dict[str, list[tuple[str, bool]]]:
    """By variant, in parts that are key phrases or not: a sentence that most variants write in an order of their own.

    A variant has the sentence where the one at its place has the same words; for another, the first words of the
    review stand there, as many. Nothing where no review has a sentence of a fitting length.
    """
    most, found, of = 0, {}, ""
    for review_id, of_review in texts.items():
        cut = {name: _SENTENCE.split(of_review[name]) for name in variants if name in of_review}
        for place, sentence in enumerate(cut.get(ORIGINAL, ())):
            there = {name: of[place] for name, of in cut.items() if _words(of[place : place + 1]) == _words([sentence])}
            n_words = len(sentence.split())
            if _SHORTEST <= n_words <= _LONGEST and len(set(there.values())) > most:
                begins = {name: f"{' '.join(of_review[name].split()[:n_words])} …" for name in cut}
                most, found, of = len(set(there.values())), begins | there, review_id
    return {name: underlined(text, phrases.get(of, ())) for name, text in found.items()}


def _words(sentences: Sequence[str]) -> list[str]:
    return sorted(re.findall(r"\w+", " ".join(sentences).casefold()))
