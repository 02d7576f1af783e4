"""Rule-based variants of a review: its key phrases move within their sentences, and all words stay the same."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.variants.capitals import names_in
from homogenization.variants.given import given_variant
from homogenization.variants.natural import move_naturally
from homogenization.variants.order import reorder
from homogenization.variants.phrases import (
    Phrase,
    Placement,
    overlap,
    phrases_by_review,
    place_in_sentence,
    variant_table,
)
from homogenization.variants.positions import inward
from homogenization.variants.rearrangement import layout_of, rearranged
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from homogenization.variants.sentences import Sentence, sentences_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

# what counts a word of difference in length, in the choice of other phrases, against a difference in position, which
# is at most 1
WORD = 0.2


def move_by_rules(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    *,
    like: str | None = None,
    which: str = "key",
) -> tuple[str, list[Placement]]:
    """Move the phrases of each sentence; a sentence without phrases, or with all of them in place, stays unchanged.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases in reading order, without overlaps. Each moves with its constituent.
        position: "front", "end" or "inward".
        like: With "inward", the position of which the displacement is matched; otherwise None.
        which: "key" to move the key phrases, "other" to move others that match them.

    Returns:
        The rewritten review, with its sentences joined by spaces, and the placement of each constituent that was to
        move, in reading order.
    """
    moving = moving_phrases(sentences, phrases, which)
    of_sentence = [[phrase for phrase in moving if phrase.sentence == sentence.number] for sentence in sentences]
    layouts = [layout_of(*pair, inner=position == "inward") for pair in zip(sentences, of_sentence, strict=True)]
    slots = inward(layouts, like) if position == "inward" else [layout.edge(position) for layout in layouts]
    names, rewritten, placements = names_in(sentences), [], []
    for sentence, own, layout, slot in zip(sentences, of_sentence, layouts, slots, strict=True):
        moved, starts = sentence.text, [phrase.start - sentence.start for phrase in own]
        if slot is not None and any(other != slot for other in layout.slots):
            moved, starts = rearranged(sentence, own, slot, names | sentence.proper_names)
        rewritten.append(moved)
        for phrase, start in zip(own, starts, strict=True):
            after = place_in_sentence(moved, (0, len(moved)), start, phrase.term)
            placements.append(Placement(phrase.term, sentence.number, position_in(sentence, phrase), after))
    return " ".join(rewritten), placements


def kept_places(text: str, phrases: Sequence[Phrase]) -> list[Placement]:
    """The placements of phrases in a review that stays as it is."""
    spans = sentence_spans(text)
    at = [place_in_sentence(text, spans[phrase.sentence], phrase.start, phrase.term) for phrase in phrases]
    return [Placement(phrase.term, phrase.sentence, one, one) for phrase, one in zip(phrases, at, strict=True)]


def position_in(sentence: Sentence, phrase: Phrase) -> float | None:
    """The position of a phrase in its sentence, as in `Placement`."""
    return place_in_sentence(sentence.text, (0, len(sentence.text)), phrase.start - sentence.start, phrase.term)


def moving_phrases(sentences: Sequence[Sentence], phrases: Sequence[Phrase], which: str) -> list[Phrase]:
    """The constituents that move: those of the key phrases, or others that match them; in reading order, apart."""
    keys: list[Phrase] = []
    for phrase in phrases:
        if sentences[phrase.sentence].stays:
            continue
        constituent = sentences[phrase.sentence].constituent(phrase)
        if not keys or not overlap(keys[-1], constituent):
            keys.append(constituent)
        elif len(constituent.term) > len(keys[-1].term):
            keys[-1] = constituent
    if which == "key":
        return keys
    others = (other for sentence in sentences if not sentence.stays for other in sentence.constituents())
    pool = [other for other in others if not any(overlap(other, key) for key in keys)]
    places, at = ([position_in(sentences[p.sentence], p) or 0.0 for p in of] for of in (keys, pool))
    return others_like(keys, places, pool, at)


def others_like(
    keys: Sequence[Phrase], places: Sequence[float], pool: Sequence[Phrase], at: Sequence[float]
) -> list[Phrase]:
    """Choose another phrase for each key phrase: of all pairs, those that differ least in place and length come first.

    Args:
        keys: The key phrases of a review.
        places: Position of each in its sentence, from 0 to 1.
        pool: Phrases that overlap no key phrase, but may overlap one another.
        at: Position of each of them.

    Returns:
        Phrases in reading order, without overlaps: as many as `keys`, or fewer where the review has no more.
    """
    lengths, others = (np.array([len(phrase.term.split()) for phrase in of], float) for of in (keys, pool))
    cost = abs(np.subtract.outer(places, at)) + WORD * abs(np.subtract.outer(lengths, others))
    chosen: dict[int, Phrase] = {}
    for key, number in zip(*np.unravel_index(np.argsort(cost, axis=None, kind="stable"), cost.shape), strict=True):
        if key not in chosen and not any(overlap(pool[number], other) for other in chosen.values()):
            chosen[key] = pool[number]
    return sorted(chosen.values(), key=lambda phrase: phrase.start)


def rewrite_reviews(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame | None,
    parse: "Sequence[Doc] | None",
    variant: str,
    rewriter: str,
    *,
    phrases: str = "key",
    seed: int = 0,
    **options: Any,
) -> pl.DataFrame:
    """Write one variant of each review.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns of `KEYPHRASE_SCHEMA`, in reading order, as `extract_keyphrases` gives; None where
            the variant needs none.
        parse: The parse of their sentences, from `parse_reviews`; None for the rewriters "none" and "order".
        variant: Name of the variant.
        rewriter: "none" to keep the text, "rules" for `move_by_rules`, "natural" for `move_naturally`, "order" for
            `reorder`, whose texts have no placements, "column" for `given_variant`.
        phrases: Which phrases move by "rules": "key", or "other" ones.
        seed: Seed of the draws of "order".
        options: Further arguments of the rewriter, such as `position`.

    Returns:
        Columns of `VARIANT_SCHEMA`, a row for each review in the order of `reviews`.
    """
    if rewriter == "column":
        return given_variant(reviews, variant, **options)
    keyphrases = pl.DataFrame(schema=KEYPHRASE_SCHEMA) if keyphrases is None else keyphrases
    if rewriter in ("natural", "order"):
        keyphrases = keyphrases.sort("score", descending=True, maintain_order=True)
    keys, made, n_same = phrases_by_review(keyphrases), [], 0
    sentences = sentences_of(reviews["text"], parse) if parse else []
    for number, (name, text) in enumerate(reviews.select("review_id", "text").iter_rows()):
        own = keys.get(name, [])
        if rewriter == "none":
            rewritten, placements = text, kept_places(text, own)
        elif rewriter == "order":
            rewritten, placements = reorder(text, own, seed=seed, review=name, **options), []
        elif rewriter == "rules":
            rewritten, placements = move_by_rules(sentences[number], own, which=phrases, **options)
        else:
            rewritten, placements = move_naturally(sentences[number], own, **options)
        n_same += words(text) == words(rewritten)
        if Counter(words(text)) != Counter(words(rewritten)):
            raise RuntimeError(f"review {name}: the rewriter '{rewriter}' changed the words of: {text}")
        made.append((name, rewritten, placements))
    if rewriter != "none" and n_same:
        level = logging.INFO if len(made) - n_same >= LEAST_SHARE * len(made) else logging.WARNING
        logging.log(level, "%s: %d of %d texts are as the original. %s.", variant, n_same, len(made), MORE_CHANGE)
    return variant_table(variant, reviews, made)
