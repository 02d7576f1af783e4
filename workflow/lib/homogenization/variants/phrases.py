"""Key phrases of a review, and their positions in their sentences."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise

import polars as pl

from homogenization.corpus.sentences import folded, sentence_spans, starts, word_spans, words
from homogenization.variants.schemas import VARIANT_SCHEMA

# stems of contractions (don't, can't, won't, let's …) that the stop list lacks
_AUXILIARIES = frozenset(("i", "do", "does", "did", "ca", "wo", "sha", "would", "could", "should", "need", "ai", "let"))
_CONTRACTED = re.compile(r"(?:n't|'(?:s|m|re|ve|d|ll|t))$")


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


def term_of(text: str) -> str:
    """The folded words of a text, as in `Phrase.term`."""
    return " ".join(words(text))


def find_phrases(text: str, terms: Iterable[str], apart: bool = False) -> Iterator[Phrase]:
    """The places of terms in a cleaned text, one term after the other, each in reading order.

    A place is made of whole words of one sentence that no earlier place has, with spaces between them and, if `apart`,
    around them.
    """
    spans, sentences = word_spans(text), [start for start, _ in sentence_spans(text)]
    of_text = [folded(text[slice(*span)]) for span in spans]
    free = set(spans)
    if apart:
        runs = [word_spans(text, *run.span()) for run in re.finditer(r"\S+", text)]
        free = {run[0] for run in runs if len(run) == 1}
    for term in terms:
        for first in starts(of_text, term):
            own = spans[first : first + len(term.split())]
            in_sentence, also = (bisect_right(sentences, own[at][0]) - 1 for at in (0, -1))
            unbroken = all(text[one[1] : two[0]].isspace() for one, two in pairwise(own))
            if free.issuperset(own) and unbroken and in_sentence == also:
                free.difference_update(own)
                yield Phrase(term, in_sentence, own[0][0], own[-1][1])


@cache
def is_content(term: str) -> bool:
    """Whether a phrase neither begins nor ends with a stop word or a bare number."""
    return not any(map(is_stop_word, term.split()[:: max(len(term.split()) - 1, 1)]))


@cache
def is_stop_word(word: str) -> bool:
    """Whether a folded word is a stop word (scikit-learn's English list), a contraction of one, or has no letter."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    if not any(map(str.isalpha, word)) or len(word) == 1:
        return True
    stem = _CONTRACTED.sub("", word)
    return word in ENGLISH_STOP_WORDS or (stem != word and (stem in ENGLISH_STOP_WORDS or stem in _AUXILIARIES))


def overlap(one: Phrase, other: Phrase) -> bool:
    """Whether two phrases of a review share characters."""
    return one.start < other.end and other.start < one.end


def variant_table(
    variant: str, reviews: pl.DataFrame, rewritten: Iterable[tuple[str, str, Iterable[Placement]]]
) -> pl.DataFrame:
    """A variant as a table of `VARIANT_SCHEMA`.

    Args:
        variant: Its name.
        reviews: Columns review_id, label.
        rewritten: Review_id, text and placements of each review that it has.
    """
    labels = dict(reviews.select("review_id", "label").iter_rows())
    rows = [
        (variant, name, text, labels[name], [asdict(placement) for placement in placements])
        for name, text, placements in rewritten
    ]
    return pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row")


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
    n_others = len(spans) - len(term.split())
    return sum(word_start < start for word_start, _ in spans) / n_others if n_others else None
