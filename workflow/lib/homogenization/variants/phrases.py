"""Key phrases of a review, and their positions in their sentences."""

from dataclasses import dataclass

import polars as pl

from homogenization.corpus.sentences import folded, word_spans


@dataclass(frozen=True)
class Phrase:
    """One place of a phrase in a review.

    Attributes:
        term: Folded words of the phrase, joined by spaces.
        sentence: Number of the sentence, from 0.
        start: First character of the phrase in the review.
        end: Last character plus one.
    """

    term: str
    sentence: int
    start: int
    end: int


@dataclass(frozen=True)
class Placement:
    """Positions of a phrase in its sentence, in the original review and in the rewritten one.

    A position is the number of words before the phrase over the number of the sentence's other words: 0 is the
    beginning, 1 the end. It is None if the phrase is the whole sentence.
    """

    phrase: str
    sentence: int
    original_position: float | None
    position: float | None


def phrases_by_review(keyphrases: pl.DataFrame) -> dict[str, list[Phrase]]:
    """The phrases of each review, in the order of the table.

    Args:
        keyphrases: Columns review_id, phrase, sentence, start, end, as `extract_keyphrases` gives them.
    """
    phrases: dict[str, list[Phrase]] = {}
    for name, *place in keyphrases.select("review_id", "phrase", "sentence", "start", "end").iter_rows():
        phrases.setdefault(name, []).append(Phrase(*place))
    return phrases


def place_in_sentence(text: str, span: tuple[int, int], start: int, term: str) -> float | None:
    """The position of the phrase `term` at character `start` in the sentence text[span], as in `Placement`."""
    spans = word_spans(text, *span)
    before = sum(word_start < start for word_start, _ in spans)
    length = len(term.split())
    if [folded(text[slice(*word)]) for word in spans[before : before + length]] != term.split():
        raise RuntimeError(f"'{term}' is not at character {start} of: {text[slice(*span)]}")
    return before / (len(spans) - length) if len(spans) > length else None
