"""Variants of a review in a natural order: an adjunct of a sentence moves to its front or to its end."""

import re
from collections.abc import Iterator, Sequence

from homogenization.variants.adjuncts import Adjunct, adjuncts_of
from homogenization.variants.capitals import begins_with_capital, begun, names_in, within_a_sentence
from homogenization.variants.clauses import MainClause
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of
from homogenization.variants.sentences import Sentence

_STOP = re.compile(r"[,;:.!?…]+$")
_TOUCHED = re.compile(r"(?<=\w)(?=[(\[{]\w[^)\]}\s]*\s)")  # a bracket that opens behind a word: "Cooper(the father)"
_OPENING, _CLOSING = frozenset("\"'“‘([{«*_`"), frozenset("\"'”’)]}»*_`´")


def move_naturally(
    sentences: Sequence[Sentence], phrases: Sequence[Phrase], position: str, *, which: str = "any"
) -> tuple[str, list[Placement]]:
    """Move one adjunct of each sentence that has one; all other characters between sentences stay as they are.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases, the best first.
        position: "front" or "end". The same adjuncts move at both.
        which: "any" adjunct, those that hold a "key" phrase, or the "other" ones.

    Returns:
        The rewritten review, and the placement of each adjunct, in reading order.
    """
    names, parts, placements = names_in(sentences), [], []
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        chosen = min(_ranked(sentence, keys, which), default=None, key=lambda pair: pair[0])
        if chosen is None:
            parts.append(sentence.text)
            continue
        first, end = sentence.characters(chosen[1].first, chosen[1].last)
        moved, start = _written(sentence, chosen[1], position, names | sentence.proper_names)
        parts.append(moved)
        term = term_of(sentence.text[first:end])
        before = place_in_sentence(sentence.text, (0, len(sentence.text)), first, term)
        after = place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
    return " ".join(parts), placements


def _ranked(sentence: Sentence, keys: Sequence[Phrase], which: str) -> Iterator[tuple[tuple[int, int], Adjunct]]:
    """The adjuncts asked for with their ranks: that with the best key phrase comes first, then the longest."""
    for adjunct in adjuncts_of(MainClause(sentence)):
        first, end = sentence.characters(adjunct.first, adjunct.last)
        own = Phrase("", sentence.number, sentence.start + first, sentence.start + end)
        holds = next((number for number, key in enumerate(keys) if overlap(own, key)), len(keys))
        if which == "any" or (holds < len(keys)) == (which == "key"):
            yield (holds, first - end), adjunct


def _written(sentence: Sentence, adjunct: Adjunct, place: str, names: frozenset[str]) -> tuple[str, int]:
    """The sentence with an adjunct at a place, and the first character of the adjunct in it.

    Where it stands there, the sentence is as it was. Otherwise quotes and brackets go with their words, the stops come
    last, and capitals follow the new first word; `names` are the words that keep theirs.
    """
    text, own = sentence.text, (adjunct.first, adjunct.last)
    if place == adjunct.place:
        return text, sentence.characters(*own)[0]
    stop = _STOP.search(text)[0]
    old, new = sentence.characters(sentence.runs[0].first, sentence.runs[0].last), within_a_sentence(sentence, names)
    written, start = "", 0
    for part in adjunct.order(place):
        if part == ",":
            written += ","
            continue
        begin, end = sentence.characters(*_with_marks(sentence, *part))
        words = text[begin : min(end, len(text) - len(stop))]
        if begin <= old[0] < end:
            words = words[: old[0] - begin] + new + words[old[1] - begin :]
        written += " " * bool(written)
        if part == own:
            start = len(written) + sentence.characters(*part)[0] - begin
        written += words
    if begins_with_capital(sentence):
        written = begun(written)
    return _TOUCHED.sub(" ", written) + stop, start


def _with_marks(sentence: Sentence, first: int, last: int) -> tuple[int, int]:
    """Some tokens with the opening and closing marks that touch them."""
    doc = sentence.doc
    while first and not doc[first - 1].whitespace_ and doc[first - 1].text in _OPENING:
        first -= 1
    while last + 1 < len(doc) and not doc[last].whitespace_ and doc[last + 1].text in _CLOSING:
        last += 1
    return first, last
