"""Key phrases of a review: its noun chunks and names, scored independently of their positions, or the user's own."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import folded, sentence_spans, starts, word_spans, words
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.run.errors import HomogenizationError
from homogenization.variants.phrases import Phrase, is_content, is_stop_word, overlap, term_of
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from homogenization.variants.sentences import sentences_of

if TYPE_CHECKING:
    from spacy.tokens import Doc


def weigh_words(texts: Sequence[str], min_document_frequency: int) -> pl.DataFrame:
    """The inverse document frequency of the words of a corpus, by scikit-learn; stop words are left out.

    It is ln((1 + N) / (1 + df)) + 1 over the whole corpus: it depends neither on the other reviews of the sample nor on
    a word's position.

    Args:
        texts: Cleaned reviews of the whole corpus.
        min_document_frequency: Smallest number of reviews with a word; the table leaves rarer words out.

    Returns:
        Columns word (String), idf (Float64), sorted by word.

    Raises:
        HomogenizationError: no word is frequent enough.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    def content(text: str) -> list[str]:
        return [word for word in words(text) if not is_stop_word(word)]

    try:
        vectorizer = TfidfVectorizer(analyzer=content, min_df=min_document_frequency).fit(texts)
    except ValueError as error:
        raise HomogenizationError(
            f"keyphrases: no word occurs in {min_document_frequency} reviews or more. Lower min_document_frequency or "
            "give a larger corpus."
        ) from error
    return pl.DataFrame({"word": vectorizer.get_feature_names_out().tolist(), "idf": vectorizer.idf_}).sort("word")


def tfidf(text: str, terms: Iterable[str], idf: Mapping[str, float], n_documents: int) -> dict[str, float]:
    """Score phrases by the sum over their words of term frequency times inverse document frequency.

    This is the baseline of Hasan and Ng (2010). Term frequency is 1 + ln(count of the word in the review), since the
    count itself favours words that are repeated throughout ("film"). A word too rare for the table counts as a word of
    a single review where the review repeats it (a hero's name); else it is most often a misspelling, and its phrase has
    no score.

    Args:
        text: The review.
        terms: Phrases, folded.
        idf: Inverse document frequency by word, from `weigh_words`.
        n_documents: Number of reviews of the corpus.
    """
    counts, rare = Counter(words(text)), log((1 + n_documents) / 2) + 1
    content = {term: [word for word in term.split() if not is_stop_word(word)] for term in terms}
    return {
        term: sum((1 + log(counts[word])) * idf.get(word, rare) for word in of_term)
        for term, of_term in content.items()
        if of_term and all(word in idf or counts[word] > 1 for word in of_term)
    }


def key_phrases(text: str, scores: Mapping[str, float], max_phrases: int) -> list[tuple[Phrase, float]]:
    """The places of the best phrases in a review.

    The phrases are taken from the best on, each with all its places that no better phrase overlaps, until
    `max_phrases` have a place. A place lies within one sentence, and is made of whole words with spaces between and
    around them. Among equal scores, longer phrases come first, then the alphabet decides.

    Args:
        text: A cleaned review.
        scores: Score of each phrase that may be key, by its folded words.
        max_phrases: Largest number of distinct phrases.

    Returns:
        (phrase, score) in reading order, without overlaps.
    """
    spans, sentences = word_spans(text), sentence_spans(text)
    of_text = [folded(text[slice(*span)]) for span in spans]
    runs = [run.span() for run in re.finditer(r"\S+", text)]
    bounds = np.array([start for start, _ in spans], dtype=int)
    run_of, sentence_of = (
        np.searchsorted([start for start, _ in parts], bounds, side="right") - 1 for parts in (runs, sentences)
    )
    n_in_run = Counter(run_of.tolist())
    chosen: dict[Phrase, float] = {}
    for term in sorted(scores, key=lambda term: (-scores[term], -len(term.split()), term)):
        if len({phrase.term for phrase in chosen}) == max_phrases:
            break
        for first in starts(of_text, term):
            own = range(first, first + len(term.split()))
            gaps = (text[spans[one][1] : spans[two][0]] for one, two in pairwise(own))
            if not all(map(str.isspace, gaps)) or any(n_in_run[run_of[number]] > 1 for number in own):
                continue
            place = Phrase(term, int(sentence_of[first]), spans[first][0], spans[own[-1]][1])
            if sentence_of[first] == sentence_of[own[-1]] and not any(overlap(place, other) for other in chosen):
                chosen[place] = float(scores[term])
    return sorted(chosen.items(), key=lambda pair: pair[0].start)


def extract_keyphrases(
    reviews: pl.DataFrame,
    parse: "Sequence[Doc]",
    weights: pl.DataFrame,
    n_documents: int,
    *,
    max_phrases: int,
    ngram_range: tuple[int, int],
) -> pl.DataFrame:
    """Find the key phrases of each review among its noun chunks without determiners, and its names, by tf-idf.

    Args:
        reviews: Columns review_id, text.
        parse: The parse of their sentences, from `parse_reviews`.
        weights: Table of `weigh_words`.
        n_documents: Number of reviews that it is made from.
        max_phrases: Largest number of distinct phrases of a review.
        ngram_range: Smallest and largest number of words of a phrase.

    Returns:
        A row for each place of a phrase (`KEYPHRASE_SCHEMA`), in the order of `reviews`, then in reading order.
    """
    idf, found = dict(weights.select("word", "idf").iter_rows()), {}
    parsed = sentences_of(reviews["text"], parse)
    for (name, text), sentences in zip(reviews.select("review_id", "text").iter_rows(), parsed, strict=True):
        terms = {term for sentence in sentences for term in sentence.content_terms(ngram_range)}
        found[name] = key_phrases(text, tfidf(text, terms, idf, n_documents), max_phrases)
    return keyphrase_table(found)


def given_keyphrases(reviews: pl.DataFrame, column: str, max_phrases: int) -> pl.DataFrame:
    """The key phrases that the user's file names, the best first, divided by semicolons: as `extract_keyphrases`.

    A phrase that does not stand in its review word for word is left out, and told; its score is 1 / (1 + rank).

    Args:
        reviews: Columns review_id, text and `column`.
        column: Column of phrases.
        max_phrases: Largest number of distinct phrases of a review.
    """
    found, absent = {}, {}
    for name, text, cell in reviews.select("review_id", "text", pl.col(column).cast(pl.String)).iter_rows():
        listed = [term for part in (cell or "").split(";") if (term := term_of(part))]
        found[name] = key_phrases(text, ranked(listed), max_phrases)
        there = {phrase.term for phrase, _ in found[name]}
        absent[name] = [term for term in listed if term not in there and not starts(words(text), term)]
    if missing := {name: terms for name, terms in absent.items() if terms}:
        name, terms = next(iter(missing.items()))
        logging.warning(
            "%d reviews lack phrases of the column '%s' word for word, such as %s in review %s: these are left out",
            len(missing),
            column,
            ", ".join(map(repr, terms)),
            name,
        )
    return keyphrase_table(found)


def ranked(phrases: Iterable[Any]) -> dict[str, float]:
    """The scores of listed phrases, the best first, by their folded words: 1 / (1 + rank)."""
    return {term: 1 / (1 + rank) for rank, term in enumerate(dict.fromkeys(map(term_of, phrases)))}


def keyphrase_table(keyphrases: Mapping[str, Sequence[tuple[Phrase, float]]]) -> pl.DataFrame:
    """The key phrases of each review, with their scores, as a table of `KEYPHRASE_SCHEMA`; logs how many have none."""
    n_without = sum(not phrases for phrases in keyphrases.values())
    if n_without:
        few = len(keyphrases) - n_without >= LEAST_SHARE * len(keyphrases)
        told = f"{n_without} of {len(keyphrases)} texts have no key phrase: in their variants nothing moves"
        logging.log(logging.INFO if few else logging.WARNING, "%s. %s.", told, MORE_CHANGE)
    rows = [
        (name, phrase.term, score, phrase.sentence, phrase.start, phrase.end)
        for name, phrases in keyphrases.items()
        for phrase, score in phrases
    ]
    return pl.DataFrame(rows, schema=KEYPHRASE_SCHEMA, orient="row")


def literal_terms(listed: object, ngram_range: tuple[int, int]) -> list[str]:
    """The phrases of a list that may be key: of an allowed length, and with a content word at each edge."""
    texts = listed if isinstance(listed, list) and all(isinstance(one, str) for one in listed) else []
    terms = [term for term in map(term_of, texts) if term]
    return [term for term in terms if ngram_range[0] <= len(term.split()) <= ngram_range[1] and is_content(term)]
