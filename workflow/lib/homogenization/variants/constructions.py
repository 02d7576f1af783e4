"""Variants of a review in a natural order: an adjunct of a sentence moves to its front or to its end."""

from collections.abc import Sequence

from homogenization.names.variants import CONSTRUCTIONS
from homogenization.variants.adjuncts import adjuncts
from homogenization.variants.atoms import names_in
from homogenization.variants.clauses import Move
from homogenization.variants.constituents import Sentence
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of


def move_by_constructions(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    *,
    constructions: Sequence[str] = CONSTRUCTIONS,
    which: str = "any",
) -> tuple[str, list[Placement]]:
    """Move one phrase of each sentence that has one; all other characters between sentences stay as they are.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases, the best first.
        position: "front" or "end". The same phrases move at both.
        constructions: Those allowed, of `CONSTRUCTIONS`.
        which: "any" phrase, those that hold a "key" phrase, or the "other" ones.

    Returns:
        The rewritten review, and the placement of each phrase, in reading order.
    """
    text = sentences[0].text if sentences else ""
    names = names_in(text)
    parts, placements, at = [], [], 0
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        moves = ranked(sentence, keys, constructions, which)
        if not moves:
            continue
        moved, start = moves[0].written(position, names | sentence.proper_names)
        first, end = moves[0].characters
        term = term_of(text[first:end])
        before = place_in_sentence(text, sentence.span, first, term)
        after = place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
        parts += [text[at : sentence.span[0]], moved]
        at = sentence.span[1]
    return "".join([*parts, text[at:]]), placements


def ranked(sentence: Sentence, keys: Sequence[Phrase], constructions: Sequence[str], which: str) -> list[Move]:
    """The moves of a sentence, the best first: of the phrase that holds the best key phrase, then of the longest."""
    found = []
    for move in adjuncts(sentence):
        span = Phrase("", sentence.number, *move.characters)
        holds = next((number for number, key in enumerate(keys) if overlap(span, key)), None)
        is_asked = which == "any" or (holds is not None) == (which == "key")
        if move.construction in constructions and is_asked:
            found.append(((holds if holds is not None else len(keys), span.start - span.end), move))
    return [move for _, move in sorted(found, key=lambda pair: pair[0])]
