"""Search for the key phrases of a review in a text that a language model has made of it."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from homogenization.corpus.sentences import PUNCTUATION, folded, sentence_spans, word_spans
from homogenization.variants.phrases import Phrase, Placement, place_in_sentence

Span = tuple[int, int]

_BREAKS = PUNCTUATION - {"."}  # within a sentence, a dot before white space belongs to an abbreviation ("Dr.")


def find_again(original: str, phrases: Sequence[Phrase], rewritten: str) -> list[Placement]:
    """Find the phrases of `original` in `rewritten`; the n-th phrase with a term gets the n-th place of the term.

    A place is a run of the term's folded words in a sentence, separated by white space without punctuation. Places do
    not overlap; the search takes longer terms first.

    Args:
        original: A cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        rewritten: A cleaned text.

    Returns:
        A placement for each phrase that was found, in the order of `phrases`; `sentence` is its number in `original`.
    """
    spans = sentence_spans(original)
    places = _places(rewritten, {phrase.term for phrase in phrases})
    placements = []
    for phrase in phrases:
        if places[phrase.term]:
            span, start = places[phrase.term].pop(0)
            before = place_in_sentence(original, spans[phrase.sentence], phrase.start, phrase.term)
            after = place_in_sentence(rewritten, span, start, phrase.term)
            placements.append(Placement(phrase.term, phrase.sentence, before, after))
    return placements


def _places(text: str, terms: Collection[str]) -> dict[str, list[tuple[Span, int]]]:
    """All places of each term in reading order: the span of the sentence, and the term's first character."""
    sentences = []
    for span in sentence_spans(text):
        word_places = word_spans(text, *span)
        sentences.append((span, word_places, [folded(text[slice(*word)]) for word in word_places]))
    places: dict[str, list[tuple[Span, int]]] = {term: [] for term in terms}
    occupied: set[Span] = set()
    for term in sorted(terms, key=lambda term: (-len(term.split()), term)):
        term_words = term.split()
        for span, word_places, folded_words in sentences:
            for first in range(len(word_places) - len(term_words) + 1):
                run = word_places[first : first + len(term_words)]
                is_term = folded_words[first : first + len(term_words)] == term_words
                if is_term and occupied.isdisjoint(run) and _is_unbroken(text, run):
                    occupied.update(run)
                    places[term].append((span, run[0][0]))
    return places


def _is_unbroken(text: str, run: Sequence[Span]) -> bool:
    """Whether white space without punctuation separates the words of `run`."""
    gaps = [text[end:start] for (_, end), (start, _) in pairwise(run)]
    return all(_BREAKS.isdisjoint(gap) and any(map(str.isspace, gap)) for gap in gaps)
