"""Variants of a review by constructions, each of which puts a phrase of a sentence at its front or at its end.

To add one, write a function that gives the `Move`s of a `MainClause`, and name it in `CONSTRUCTIONS` here, in
`names.variants.CONSTRUCTIONS` with the places where its phrase can stand, and in docs/variants.md; words that it
changes in `construction_words.CHANGED`.
"""

from collections.abc import Callable, Iterator, Sequence

from homogenization.corpus.sentences import words
from homogenization.names.variants import KEEPING_WORDS, SIDES
from homogenization.variants import rewordings
from homogenization.variants.adjuncts import adjuncts
from homogenization.variants.atoms import names_in
from homogenization.variants.clauses import MainClause, Move
from homogenization.variants.constituents import Sentence
from homogenization.variants.gate import Gate
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of

#: What gives the moves that a construction allows in a clause.
CONSTRUCTIONS: dict[str, Callable[[MainClause], Iterator[Move]]] = {
    **dict.fromkeys(("adjunct", "clause", "adverb"), adjuncts),
    "slifting": rewordings.slifting,
    "wh_cleft": rewordings.wh_cleft,
    "copula": rewordings.copula,
    "as_for": rewordings.as_for,
    "passive": rewordings.passive,
}


def move_by_constructions(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    *,
    constructions: Sequence[str] = KEEPING_WORDS,
    places: Sequence[str] = SIDES,
    which: str = "any",
    passes: Gate | None = None,
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
        passes: The gate. The best phrase moves that passes it at all `places`; if none does, the sentence stays.

    Returns:
        The rewritten review, and the placement of each phrase, in reading order; that of the best where none passes.
    """
    text = sentences[0].text if sentences else ""
    names = names_in(text)
    parts, placements, at = [], [], 0
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        moves = ranked(sentence, keys, constructions, places, which)
        if not moves:
            continue
        own = names | sentence.proper_names
        passing = (move for move in moves if passes is None or _passes(passes, sentence, move, places, own))
        move = next(passing, None)
        moved, start = move.written(position, own) if move else (sentence.written, None)
        move = move or moves[0]
        first, end = move.characters
        term = term_of(text[first:end])
        before = place_in_sentence(text, sentence.span, first, term)
        after = before if start is None else place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
        parts += [text[at : sentence.span[0]], moved]
        at = sentence.span[1]
    return "".join([*parts, text[at:]]), placements


def _passes(passes: Gate, sentence: Sentence, move: Move, places: Sequence[str], names: frozenset[str]) -> bool:
    """Whether a sentence passes the gate with its phrase at all places where it does not stand already."""
    own = words(sentence.written)
    texts = [move.written(place, names)[0] for place in places]
    return all(words(text) == own or passes(sentence, text, move.construction) is None for text in texts)


def ranked(
    sentence: Sentence, keys: Sequence[Phrase], constructions: Sequence[str], places: Sequence[str], which: str
) -> list[Move]:
    """The moves of a sentence, the best first: of the phrase that holds the best key phrase, then of the longest.

    The phrase must be able to stand at each of `places`. A sentence that the constructions cannot change has none.
    """
    clause, found = MainClause(sentence), []
    finders = dict.fromkeys(map(CONSTRUCTIONS.get, constructions)) if clause.root is not None else ()
    for move in (move for find in finders for move in find(clause)):
        span = Phrase("", sentence.number, *move.characters)
        holds = next((number for number, key in enumerate(keys) if overlap(span, key)), None)
        is_asked = which == "any" or (holds is not None) == (which == "key")
        if move.construction in constructions and is_asked and move.orders.keys() >= set(places):
            found.append(((holds if holds is not None else len(keys), span.start - span.end), move))
    return [move for _, move in sorted(found, key=lambda pair: pair[0])]
