"""Key phrases of a review: its noun chunks and names, scored independently of their positions, or the user's own."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from math import log
from typing import TYPE_CHECKING

import polars as pl

from homogenization.corpus.sentences import words
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.variants.given import cells
from homogenization.variants.phrases import Phrase, find_phrases, is_stop_word, term_of
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from homogenization.variants.sentences import sentences_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

MOST_WORDS_OF_A_PHRASE = 3
Found = list[tuple[Phrase, float]]


def content_words(text: str) -> list[str]:
    """The folded words of a text without its stop words."""
    return [word for word in words(text) if not is_stop_word(word)]


def weigh_words(texts: Sequence[str]) -> pl.DataFrame:
    """The inverse document frequency of the words of a corpus, ln((1 + N) / (1 + df)) + 1, by scikit-learn.

    It is over the whole corpus: it depends neither on the other reviews of the sample nor on a word's position.

    Args:
        texts: Cleaned reviews of the whole corpus.

    Returns:
        Columns word (String), idf (Float64), sorted by word; without stop words.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=content_words).fit(texts)
    return pl.DataFrame({"word": vectorizer.get_feature_names_out().tolist(), "idf": vectorizer.idf_}).sort("word")


def tfidf(text: str, terms: Iterable[str], idf: Mapping[str, float]) -> dict[str, float]:
    """Score phrases by the sum over their words of term frequency times inverse document frequency.

    This is the baseline of Hasan and Ng (2010). Term frequency is 1 + ln(count of the word in the review), since the
    count itself favours words that are repeated throughout ("film"). A word that stands once in a single review is most
    often a misspelling, and its phrase has no score.

    Args:
        text: The review.
        terms: Phrases, folded.
        idf: Inverse document frequency by word, from `weigh_words`.
    """
    counts, rare = Counter(words(text)), max(idf.values())
    content = {term: [word for word in term.split() if not is_stop_word(word)] for term in terms}
    return {
        term: sum((1 + log(counts[word])) * idf[word] for word in of_term)
        for term, of_term in content.items()
        if of_term and all(counts[word] > 1 or idf[word] < rare for word in of_term)
    }


def key_phrases(text: str, scores: Mapping[str, float], max_phrases: int) -> Found:
    """The places of the best phrases in a review.

    The phrases are taken from the best on, each with all its places that no better phrase overlaps (`find_phrases`),
    until `max_phrases` have a place. Among equal scores, longer phrases come first, then the alphabet decides.

    Args:
        text: A cleaned review.
        scores: Score of each phrase that may be key, by its folded words.
        max_phrases: Largest number of distinct phrases.

    Returns:
        (phrase, score) in reading order, without overlaps.
    """
    best_first = sorted(scores, key=lambda term: (-scores[term], -len(term.split()), term))
    of_terms = islice(groupby(find_phrases(text, best_first, apart=True), lambda place: place.term), max_phrases)
    found = [(place, float(scores[term])) for term, places in of_terms for place in places]
    return sorted(found, key=lambda pair: pair[0].start)


def extract_keyphrases(
    reviews: pl.DataFrame, parse: "Sequence[Doc]", weights: pl.DataFrame, max_phrases: int
) -> pl.DataFrame:
    """Find the key phrases of each review among its noun chunks without determiners, and its names, by tf-idf.

    Args:
        reviews: Columns review_id, text.
        parse: The parse of their sentences, from `parse_reviews`.
        weights: Table of `weigh_words`.
        max_phrases: Largest number of distinct phrases of a review.

    Returns:
        A row for each place of a phrase (`KEYPHRASE_SCHEMA`), in the order of `reviews`, then in reading order.
    """
    idf, found = dict(weights.select("word", "idf").iter_rows()), {}
    parsed = sentences_of(reviews["text"], parse)
    for (name, text), sentences in zip(reviews.select("review_id", "text").iter_rows(), parsed, strict=True):
        terms = {term for sentence in sentences for term in sentence.content_terms(MOST_WORDS_OF_A_PHRASE)}
        found[name] = key_phrases(text, tfidf(text, terms, idf), max_phrases)
    return keyphrase_table(found)


def given_keyphrases(reviews: pl.DataFrame, column: str, max_phrases: int) -> pl.DataFrame:
    """The key phrases that the user's file names, the best first, divided by semicolons: as `extract_keyphrases`.

    A phrase that has no place in its review, word for word, is left out, and told; its score is 1 / (1 + rank).

    Args:
        reviews: Columns review_id, text and `column`.
        column: Column of phrases.
        max_phrases: Largest number of distinct phrases of a review.
    """
    found = {}
    for name, text, cell in cells(reviews, column, "keyphrases.column"):
        listed = [term for part in cell.split(";") if (term := term_of(part))]
        found[name] = key_phrases(text, ranked(listed), max_phrases)
        placed = {phrase.term for phrase, _ in found[name]}
        tried = listed if len(placed) < max_phrases else listed[: max(map(listed.index, placed))]
        if absent := [term for term in tried if term not in placed]:
            logging.warning("review %s: no place for %s of the column '%s'", name, ", ".join(absent), column)
    return keyphrase_table(found)


def ranked(terms: Iterable[str]) -> dict[str, float]:
    """The scores of listed terms, the best first: 1 / (1 + rank)."""
    return {term: 1 / (1 + rank) for rank, term in enumerate(dict.fromkeys(terms))}


def keyphrase_table(keyphrases: Mapping[str, Found]) -> pl.DataFrame:
    """The key phrases of each review, with their scores, as a table of `KEYPHRASE_SCHEMA`; logs how many have none."""
    n_without = sum(not phrases for phrases in keyphrases.values())
    level = logging.INFO if len(keyphrases) - n_without >= LEAST_SHARE * len(keyphrases) else logging.WARNING
    said = "%d of %d texts have no key phrase: in their variants nothing moves. %s."
    logging.log(level, said, n_without, len(keyphrases), MORE_CHANGE)
    rows = [
        (name, phrase.term, score, phrase.sentence, phrase.start, phrase.end)
        for name, phrases in keyphrases.items()
        for phrase, score in phrases
    ]
    return pl.DataFrame(rows, schema=KEYPHRASE_SCHEMA, orient="row")
