"""Variants of a review by constructions, each of which puts a phrase of a sentence at its front or at its end.

To add one, write a function that gives the `Move`s of a `MainClause`, and name it in `CONSTRUCTIONS` here, in
`names.variants.CONSTRUCTIONS` with the places where its phrase can stand, and in docs/variants.md.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from homogenization.names.variants import KEEPING_WORDS, SIDES
from homogenization.variants import construction_words as lexicon
from homogenization.variants import rewordings
from homogenization.variants.adjuncts import adjuncts
from homogenization.variants.atoms import names_in
from homogenization.variants.clauses import MainClause, Move
from homogenization.variants.constituents import Sentence
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of


class Construction(NamedTuple):
    """A construction: the moves that it allows in a clause, and the folded words that it may add or leave out."""

    moves: Callable[[MainClause], Iterator[Move]]
    words: frozenset[str] = frozenset()


CONSTRUCTIONS = {
    **dict.fromkeys(("adjunct", "clause", "adverb"), Construction(adjuncts)),
    "slifting": Construction(rewordings.slifting, frozenset(("that",))),
    "wh_cleft": Construction(rewordings.wh_cleft, frozenset(("what", "is", "are", "was", "were"))),
    "copula": Construction(rewordings.copula),
    "as_for": Construction(rewordings.as_for, frozenset(("as", "for", "it", "them"))),
    "passive": Construction(rewordings.passive, lexicon.PASSIVE),
}


def words_of(constructions: Iterable[str]) -> frozenset[str]:
    """The folded words that one of the constructions may add or leave out."""
    return frozenset().union(*(CONSTRUCTIONS[name].words for name in constructions))


def move_by_constructions(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    *,
    constructions: Sequence[str] = KEEPING_WORDS,
    places: Sequence[str] = SIDES,
    which: str = "any",
) -> tuple[str, list[Placement]]:
    """Move one phrase of each sentence that has one; all other characters between sentences stay as they are.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases, the best first.
        position: "front", "end", or "inward" (behind the subject, between commas).
        constructions: Those allowed, of `CONSTRUCTIONS`.
        places: Positions at each of which the phrase must be able to stand. Variants with the same `places` move the
            same phrases.
        which: "any" phrase, those that hold a "key" phrase, or the "other" ones.

    Returns:
        The rewritten review, and the placement of each phrase, in reading order.
    """
    text = sentences[0].text if sentences else ""
    names = names_in(text)
    parts, placements, at = [], [], 0
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        move = chosen(sentence, keys, constructions, places, which)
        if move is None:
            continue
        moved, start = move.written(position, names | sentence.proper_names)
        first, end = move.characters
        term = term_of(text[first:end])
        before = place_in_sentence(text, sentence.span, first, term)
        after = place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
        parts += [text[at : sentence.span[0]], moved]
        at = sentence.span[1]
    return "".join([*parts, text[at:]]), placements


def chosen(
    sentence: Sentence, keys: Sequence[Phrase], constructions: Sequence[str], places: Sequence[str], which: str
) -> Move | None:
    """The move of a sentence: of the phrase that holds the best key phrase, then of the longest; or None.

    The phrase must be able to stand at each of `places`. A sentence that the constructions cannot change has none.
    """
    best, rank, clause = None, (), MainClause(sentence)
    finders = dict.fromkeys(CONSTRUCTIONS[name].moves for name in constructions) if clause.root is not None else ()
    for move in (move for find in finders for move in find(clause)):
        span = Phrase("", sentence.number, *move.characters)
        holds = next((number for number, key in enumerate(keys) if overlap(span, key)), None)
        is_asked = which == "any" or (holds is not None) == (which == "key")
        if move.construction in constructions and is_asked and move.orders.keys() >= set(places):
            own = (holds if holds is not None else len(keys), span.start - span.end)
            if best is None or own < rank:
                best, rank = move, own
    return best
