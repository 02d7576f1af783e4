"""The mildest changes of a text: one typo, one word deleted. Every parse of the Snakefile imports their names.

To add one, write a function of a text that returns the places where it can be done and what the text is then.
"""

from collections.abc import Callable, Sequence

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import word_spans
from homogenization.names.consequences import DELETED_WORD, TYPO

# a text -> the places where it can be done, and the function of a place that gives the changed text
Changed = Callable[[int], str]


def typos(text: str) -> tuple[Sequence[int], Changed]:
    """Two neighbouring letters of a word swapped, both small and different; a place is that of the first."""
    places = [
        place
        for start, end in word_spans(text)
        for place in range(start, end - 1)
        if text[place].islower() and text[place + 1].islower() and text[place] != text[place + 1]
    ]
    return places, lambda place: text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def deleted_words(text: str) -> tuple[Sequence[int], Changed]:
    """A word left out, with the space before it (behind the first); a place is the number of the word."""
    spans = word_spans(text)

    def without(word: int) -> str:
        start, end = spans[word]
        before, behind = text[:start], text[end:]
        if behind[:1].isspace() or not behind:
            before = before.rstrip()
        return before + behind if before else behind.lstrip()

    return range(len(spans) if len(spans) > 1 else 0), without


PERTURBED: dict[str, Callable[[str], tuple[Sequence[int], Changed]]] = {TYPO: typos, DELETED_WORD: deleted_words}


def perturb(text: str, name: str, seed: int, review_id: str) -> str | None:
    """`text` changed in one place, drawn from a hash of seed, perturbation and review; None if it has no place.

    Args:
        text: the text of a review.
        name: one of `PERTURBED`.
        seed: seed of the draw.
        review_id: name of the review.
    """
    places, changed = PERTURBED[name](text)
    if not places:
        return None
    draw = int.from_bytes(seeded_hash(seed, name, review_id), "big")
    return changed(places[draw % len(places)])


def perturbed_reviews(originals: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    """The reviews of a shard with changed texts; those without a place for the change are left out.

    Args:
        originals: columns review_id and text, among others.
        name: one of `PERTURBED`.
        seed: seed of the draws.
    """
    texts = [perturb(text, name, seed, review) for review, text in originals.select("review_id", "text").rows()]
    return originals.with_columns(pl.Series("text", texts, pl.String)).drop_nulls("text")
