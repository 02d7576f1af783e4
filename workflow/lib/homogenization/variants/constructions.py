"""Variants of a review by constructions that move an adjunct and keep its words: two natural orders of one sentence."""

from collections.abc import Sequence

from homogenization.names.variants import CONSTRUCTIONS, SIDES
from homogenization.variants.adjuncts import Adjunct, MainClause, placed
from homogenization.variants.atoms import names_in
from homogenization.variants.constituents import Sentence
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of


def move_by_constructions(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    *,
    constructions: Sequence[str] = CONSTRUCTIONS[:2],
    places: Sequence[str] = SIDES,
    which: str = "any",
) -> tuple[str, list[Placement]]:
    """Move one adjunct of each sentence that has one; all other characters between sentences stay as they are.

    Args:
        sentences: The parsed sentences of a cleaned review.
        phrases: Its key phrases, the best first.
        position: "front", "end", or "inward" (behind the subject, between commas).
        constructions: Those allowed, of `CONSTRUCTIONS`.
        places: Positions at each of which the adjunct must be able to stand. Variants with the same `places` move the
            same adjuncts.
        which: "any" adjunct, those that hold a "key" phrase, or the "other" ones.

    Returns:
        The rewritten review, and the placement of each adjunct, in reading order.
    """
    text = sentences[0].text if sentences else ""
    names = names_in(text)
    parts, placements, at = [], [], 0
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        adjunct = chosen(sentence, keys, constructions, places, which)
        if adjunct is None:
            continue
        moved, start = placed(sentence, adjunct, position, names | sentence.proper_names)
        first, end = sentence.tokens[adjunct.first].start, sentence.tokens[adjunct.last].end
        term = term_of(text[first:end])
        before = place_in_sentence(text, sentence.span, first, term)
        after = place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
        parts += [text[at : sentence.span[0]], moved]
        at = sentence.span[1]
    return "".join([*parts, text[at:]]), placements


def chosen(
    sentence: Sentence, keys: Sequence[Phrase], constructions: Sequence[str], places: Sequence[str], which: str
) -> Adjunct | None:
    """The adjunct of a sentence that moves: the one that holds the best key phrase, then the longest; or None.

    It must be able to stand at each of `places`. A sentence that the constructions cannot change has none.
    """
    best, rank = None, ()
    for adjunct in MainClause(sentence).adjuncts():
        span = Phrase("", sentence.number, sentence.tokens[adjunct.first].start, sentence.tokens[adjunct.last].end)
        holds = next((number for number, key in enumerate(keys) if overlap(span, key)), None)
        is_asked = which == "any" or (holds is not None) == (which == "key")
        fits = "inward" not in places or adjunct.subject is not None
        if adjunct.construction in constructions and is_asked and fits:
            own = (holds if holds is not None else len(keys), span.start - span.end)
            if best is None or own < rank:
                best, rank = adjunct, own
    return best
