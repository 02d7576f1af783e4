"""Variants of a review in a natural order: an adjunct of a sentence moves to its front or to its end."""

import re
from collections.abc import Sequence

from homogenization.variants.adjuncts import Adjunct, adjuncts_of
from homogenization.variants.capitals import begins_with_capital, begun, names_in, spelled_within
from homogenization.variants.clauses import MainClause
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of
from homogenization.variants.sentences import Sentence

_STOP = re.compile(r"[,;:.!?…]+$")
_TOUCHED = re.compile(r"(?<=\w)(?=[(\[{]\w[^)\]}\s]*\s)")  # a bracket that opens behind a word: "Cooper(the father)"


def move_naturally(
    sentences: Sequence[Sentence], phrases: Sequence[Phrase], position: str
) -> tuple[str, list[Placement]]:
    """Move one adjunct of each sentence that has one; all other characters between sentences stay as they are.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases, the best first.
        position: "front" or "end". The same adjuncts move at both.

    Returns:
        The rewritten review, and the placement of each adjunct, in reading order.
    """
    names, parts, placements = names_in(sentences), [], []
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        adjunct = min(adjuncts_of(MainClause(sentence)), default=None, key=lambda one: _rank(sentence, one, keys))
        if adjunct is None:
            parts.append(sentence.text)
            continue
        first, end = sentence.characters(adjunct.first, adjunct.last)
        moved, start = _written(sentence, adjunct, position, names | sentence.proper_names)
        parts.append(moved)
        term = term_of(sentence.text[first:end])
        before = place_in_sentence(sentence.text, (0, len(sentence.text)), first, term)
        after = place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
    return " ".join(parts), placements


def _rank(sentence: Sentence, adjunct: Adjunct, keys: Sequence[Phrase]) -> tuple[int, int]:
    """That with the best key phrase comes first, then the longest."""
    first, end = sentence.characters(adjunct.first, adjunct.last)
    own = Phrase("", sentence.number, sentence.start + first, sentence.start + end)
    return next((number for number, key in enumerate(keys) if overlap(own, key)), len(keys)), first - end


def _written(sentence: Sentence, adjunct: Adjunct, place: str, names: frozenset[str]) -> tuple[str, int]:
    """The sentence with an adjunct at a place, and the first character of the adjunct in it.

    Where it stands there, the sentence is as it was. Otherwise the stops come last, and capitals follow the new first
    word; `names` are the words that keep theirs. The commas around the adjunct go; one follows it at the front, and one
    precedes it at the end where it has to.
    """
    start, end = sentence.characters(adjunct.first, adjunct.last)
    if place == adjunct.place:
        return sentence.text, start
    text, n_lead = spelled_within(sentence, names), adjunct.clause.lead
    own, stop = text[start:end], _STOP.search(text)[0]
    lead = sentence.characters(0, n_lead - 1)[1] if n_lead else 0
    rest = [_TOUCHED.sub(" ", part.strip(" ,")) for part in (text[lead:start], text[end:].removesuffix(stop))]
    # "But, of course, it works": the comma is the adjunct's
    coordinator = text[:lead].rstrip(",") if adjunct.first == n_lead else text[:lead]
    before = " ".join(filter(None, [coordinator, *rest] if place == "end" else [coordinator]))
    before += "," * (place == "end" and adjunct.takes_comma) + " " * bool(before)
    written = before + own + (f", {' '.join(filter(None, rest))}" if place == "front" else "")
    return (begun(written) if begins_with_capital(sentence) else written) + stop, len(before)
