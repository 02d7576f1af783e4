"""Rule-based variants of a review: its key phrases move within their sentences, and all words stay the same."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.variants.atoms import names_in
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.constructions import move_by_constructions
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
from homogenization.variants.rearrangement import draft_of, rearranged

# what counts a word of difference in length, in the choice of other phrases, against a difference in position, which
# is at most 1
WORD = 0.2


def keep_text(text: str, phrases: Sequence[Phrase]) -> tuple[str, list[Placement]]:
    """Leave the review unchanged, and record the places of its phrases."""
    spans = sentence_spans(text)
    placements = []
    for phrase in phrases:
        at = place_in_sentence(text, spans[phrase.sentence], phrase.start, phrase.term)
        placements.append(Placement(phrase.term, phrase.sentence, at, at))
    return text, placements


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
    text = sentences[0].text if sentences else ""
    moving = moving_phrases(sentences, phrases, which)
    of_sentence = [[phrase for phrase in moving if phrase.sentence == number] for number in range(len(sentences))]
    drafts = [
        draft_of(sentence, own, sentence.splits() if own and position == "inward" else frozenset())
        for sentence, own in zip(sentences, of_sentence, strict=True)
    ]
    layouts = [draft.layout for draft in drafts]
    orders = inward(layouts, like) if position == "inward" else [layout.at(position) for layout in layouts]
    names = names_in(text)
    rewritten, placements = [], []
    for sentence, draft, order in zip(sentences, drafts, orders, strict=True):
        moved, starts = rearranged(text, sentence.span, draft, order, names | sentence.proper_names)
        rewritten.append(moved)
        for phrase, start in zip(draft.phrases, starts, strict=True):
            before = place_in_sentence(text, sentence.span, phrase.start, phrase.term)
            after = place_in_sentence(moved, (0, len(moved)), start, phrase.term)
            placements.append(Placement(phrase.term, sentence.number, before, after))
    return " ".join(rewritten), placements


def moving_phrases(sentences: Sequence[Sentence], phrases: Sequence[Phrase], which: str) -> list[Phrase]:
    """The constituents that move: those of the key phrases, or others that match them; in reading order, apart."""
    keys: list[Phrase] = []
    for phrase in phrases:
        if sentences[phrase.sentence].stays:
            continue
        constituent = sentences[phrase.sentence].constituent(phrase.start, phrase.end) or phrase
        if not keys or not overlap(keys[-1], constituent):
            keys.append(constituent)
        elif len(constituent.term) > len(keys[-1].term):
            keys[-1] = constituent
    if which == "key":
        return keys
    pool = [
        other
        for sentence in sentences
        if not sentence.stays
        for other in sentence.constituents()
        if not any(overlap(other, key) for key in keys)
    ]
    return others_like(keys, _places(sentences, keys), pool, _places(sentences, pool))


def _places(sentences: Sequence[Sentence], phrases: Sequence[Phrase]) -> list[float]:
    spans = [(sentences[phrase.sentence].span, phrase) for phrase in phrases]
    return [place_in_sentence(sentences[0].text, span, phrase.start, phrase.term) or 0.0 for span, phrase in spans]


def rewrite_reviews(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    parse: pl.DataFrame | None,
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
        keyphrases: Columns review_id, phrase, score, sentence, start, end, in reading order, as `extract_keyphrases`
            gives.
        parse: Columns of `PARSE_SCHEMA`, as `parse_reviews` gives them; None for the rewriters "none" and "order".
        variant: Name of the variant.
        rewriter: "none" to keep the text, "rules" for `move_by_rules`, "constructions" for `move_by_constructions`,
            "order" for `reorder`, whose texts have no placements.
        phrases: Which phrases move, `which` of the rewriter.
        seed: Seed of the draws of "order".
        options: Further arguments of the rewriter, such as `position`.

    Returns:
        Columns of `VARIANT_SCHEMA`, a row for each review in the order of `reviews`.
    """
    if rewriter in ("constructions", "order"):
        keyphrases = keyphrases.sort("score", descending=True, maintain_order=True)
    keys = phrases_by_review(keyphrases)
    parsed = {} if parse is None else parsed_sentences(reviews, parse)
    made, n_same = [], 0
    for name, text in reviews.select("review_id", "text").iter_rows():
        if rewriter == "none":
            rewritten, placements = keep_text(text, keys.get(name, []))
        elif rewriter == "order":
            rewritten, placements = reorder(text, keys.get(name, []), seed=seed, review=name, **options), []
        else:
            move = move_by_rules if rewriter == "rules" else move_by_constructions
            rewritten, placements = move(parsed[name], keys.get(name, []), which=phrases, **options)
        own, others = words(text), words(rewritten)
        n_same += own == others
        if Counter(own) != Counter(others):
            raise RuntimeError(f"review {name}: the rewriter '{rewriter}' changed the words of: {text}")
        made.append((name, rewritten, placements))
    if rewriter != "none" and n_same:
        level = logging.INFO if len(made) - n_same >= LEAST_SHARE * len(made) else logging.WARNING
        logging.log(level, "%s: %d of %d texts are as the original. %s.", variant, n_same, len(made), MORE_CHANGE)
    return variant_table(variant, reviews, made)


def others_like(
    keys: Sequence[Phrase], places: Sequence[float], pool: Sequence[Phrase], at: Sequence[float]
) -> list[Phrase]:
    """Choose a phrase of `pool` for each key phrase, so that length and position differ least in sum.

    The assignment is optimal (Kuhn 1955). Where two chosen phrases overlap, the one that fits worse is chosen again
    from what is left.

    Args:
        keys: The key phrases of a review.
        places: Position of each in its sentence, from 0 to 1.
        pool: Phrases that overlap no key phrase, but may overlap one another.
        at: Position of each of them.

    Returns:
        Phrases in reading order, without overlaps: as many as `keys`, or fewer where the review has no more.
    """
    from scipy.optimize import linear_sum_assignment

    chosen: list[Phrase] = []
    waiting, free = list(range(len(keys))), list(range(len(pool)))
    cost = np.array(
        [
            [
                abs(place - there) + WORD * abs(len(key.term.split()) - len(other.term.split()))
                for other, there in zip(pool, at, strict=True)
            ]
            for key, place in zip(keys, places, strict=True)
        ]
    ).reshape(len(keys), len(pool))
    while waiting and free:
        matched = zip(*linear_sum_assignment(cost[np.ix_(waiting, free)]), strict=True)
        ranked = sorted(matched, key=lambda pair: (cost[waiting[pair[0]], free[pair[1]]], pair))
        settled = []
        for row, column in ranked:
            if not any(overlap(pool[free[column]], other) for other in chosen):
                chosen.append(pool[free[column]])
                settled.append(row)
        waiting = [key for row, key in enumerate(waiting) if row not in settled]
        free = [number for number in free if not any(overlap(pool[number], other) for other in chosen)]
    return sorted(chosen, key=lambda phrase: phrase.start)
