"""Variants of a review by constructions that move an adjunct and keep its words: two natural orders of one sentence."""

from collections.abc import Sequence

from homogenization.corpus.sentences import words
from homogenization.names.variants import CONSTRUCTIONS, SIDES
from homogenization.variants.adjuncts import Adjunct, MainClause, placed
from homogenization.variants.atoms import names_in
from homogenization.variants.constituents import Sentence
from homogenization.variants.gate import Gate
from homogenization.variants.phrases import Phrase, Placement, overlap, place_in_sentence, term_of


def move_by_constructions(
    sentences: Sequence[Sentence],
    phrases: Sequence[Phrase],
    position: str,
    *,
    constructions: Sequence[str] = CONSTRUCTIONS[:2],
    places: Sequence[str] = SIDES,
    which: str = "any",
    passes: Gate | None = None,
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
        passes: The gate. An adjunct moves that passes it at all `places`, the best of them; if none does, the sentence
            stays as it is.

    Returns:
        The rewritten review, and the placement of each adjunct, in reading order; that of the best where none passes.
    """
    text = sentences[0].text if sentences else ""
    names = names_in(text)
    parts, placements, at = [], [], 0
    for sentence in sentences:
        keys = [phrase for phrase in phrases if phrase.sentence == sentence.number]
        adjuncts = ranked(sentence, keys, constructions, places, which)
        if not adjuncts:
            continue
        own = names | sentence.proper_names
        passing = (one for one in adjuncts if passes is None or _passes(passes, sentence, one, places, own))
        adjunct = next(passing, None)
        to = position if adjunct else adjuncts[0].place
        adjunct = adjunct or adjuncts[0]
        moved, start = placed(sentence, adjunct, to, own)
        first, end = sentence.tokens[adjunct.first].start, sentence.tokens[adjunct.last].end
        term = term_of(text[first:end])
        before = place_in_sentence(text, sentence.span, first, term)
        after = place_in_sentence(moved, (0, len(moved)), start, term)
        placements.append(Placement(term, sentence.number, before, after))
        parts += [text[at : sentence.span[0]], moved]
        at = sentence.span[1]
    return "".join([*parts, text[at:]]), placements


def _passes(passes: Gate, sentence: Sentence, adjunct: Adjunct, places: Sequence[str], names: frozenset[str]) -> bool:
    """Whether a sentence passes the gate with its adjunct at all places where it does not stand already."""
    own = words(sentence.text[slice(*sentence.span)])
    texts = [placed(sentence, adjunct, place, names)[0] for place in places]
    return all(words(text) == own or passes(sentence, text, adjunct.construction) is None for text in texts)


def ranked(
    sentence: Sentence, keys: Sequence[Phrase], constructions: Sequence[str], places: Sequence[str], which: str
) -> list[Adjunct]:
    """The adjuncts of a sentence that can move, the best first: those that hold the best key phrase, then the longest.

    Each can stand at each of `places`. A sentence that the constructions cannot change has none.
    """
    found = []
    for adjunct in MainClause(sentence).adjuncts():
        span = Phrase("", sentence.number, sentence.tokens[adjunct.first].start, sentence.tokens[adjunct.last].end)
        holds = next((number for number, key in enumerate(keys) if overlap(span, key)), None)
        is_asked = which == "any" or (holds is not None) == (which == "key")
        fits = "inward" not in places or adjunct.subject is not None
        if adjunct.construction in constructions and is_asked and fits:
            rank = (holds if holds is not None else len(keys), span.start - span.end)
            found.append((rank, adjunct))
    return [adjunct for _, adjunct in sorted(found, key=lambda pair: pair[0])]
