"""Key phrases of a review: literal runs of one to three words, scored without a look at where they stand."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import chunks, folded, is_stop_word, sentence_spans, word_spans
from homogenization.run.errors import HomogenizationError

KEYPHRASE_SCHEMA = {
    "review_id": pl.String,
    "phrase": pl.String,
    "score": pl.Float64,
    "sentence": pl.Int64,
    "start": pl.Int64,
    "end": pl.Int64,
}


@dataclass(frozen=True)
class Occurrence:
    """One place of a candidate phrase: its folded words, the sentence's number, and its span in the review."""

    term: str
    sentence: int
    start: int
    end: int


def candidates(text: str, ngram_range: tuple[int, int]) -> list[Occurrence]:
    """Every literal run of words that may be a key phrase, in reading order.

    A run lies within one sentence, crosses no punctuation, is made of whole words between spaces, and neither begins
    nor ends with a stop word or a bare number.

    Args:
        text: A cleaned review.
        ngram_range: Fewest and most words of a phrase.
    """
    found = []
    for sentence, span in enumerate(sentence_spans(text)):
        parts = chunks(text, *span)
        for first in range(len(parts)):
            for last in range(first, min(first + ngram_range[1], len(parts))):
                if parts[last].n_words != 1 or (last > first and not parts[last].is_open_before):
                    break
                if last + 1 - first >= ngram_range[0]:
                    start, end = word_spans(text, parts[first].core_start, parts[first].core_end)[0]
                    final_start, final_end = word_spans(text, parts[last].core_start, parts[last].core_end)[0]
                    edges = (text[start:end], text[final_start:final_end])
                    if not any(is_stop_word(folded(word)) for word in edges):
                        inner = [folded(text[slice(*word)]) for word in word_spans(text, start, final_end)]
                        found.append(Occurrence(" ".join(inner), sentence, start, final_end))
                if not parts[last].is_open_behind:
                    break
    return found


def count_document_frequencies(
    texts: Iterable[str], ngram_range: tuple[int, int], min_document_frequency: int = 1
) -> pl.DataFrame:
    """Count in how many reviews each candidate phrase occurs.

    Args:
        texts: The cleaned reviews of the whole corpus, not of the sample.
        ngram_range: Fewest and most words of a phrase.
        min_document_frequency: Rarer phrases are left out of the table; see `eligible`.

    Returns:
        Columns term (String), document_frequency (Int64), sorted by term.

    Raises:
        HomogenizationError: no phrase is frequent enough.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        analyzer=lambda text: [occurrence.term for occurrence in candidates(text, ngram_range)],
        min_df=min_document_frequency,
        binary=True,
        dtype=np.int32,
    )
    try:
        occurs = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise HomogenizationError(
            f"keyphrases: no phrase of {ngram_range[0]} to {ngram_range[1]} words occurs in "
            f"{min_document_frequency} reviews or more. Lower min_document_frequency or give a larger corpus."
        ) from error
    return pl.DataFrame(
        {
            "term": vectorizer.get_feature_names_out().tolist(),
            "document_frequency": np.asarray(occurs.sum(axis=0)).ravel(),
        },
        schema={"term": pl.String, "document_frequency": pl.Int64},
    ).sort("term")


# A scorer gives each candidate term of a review (with its number of occurrences) a score; a term without one is out
Scorer = Callable[[str, Counter[str]], dict[str, float]]


def eligible(terms: Counter[str], known: Collection[str]) -> Iterator[str]:
    """The terms that may be key phrases: those of the table, and rarer ones (a hero's name) that the review repeats.

    What is rare and stands once is most often a misspelling or an accident of two words.
    """
    return (term for term, count in terms.items() if count > 1 or term in known)


def tfidf_scorer(frequencies: pl.DataFrame, n_documents: int, weights: Mapping[str, Any] | None = None) -> Scorer:
    """Score by term frequency times inverse document frequency, idf = ln((1 + N) / (1 + df)) + 1.

    That is scikit-learn's smoothed idf, over the whole corpus, so the score of a phrase depends on no other review of
    the sample, and on no position. Term frequency is 1 + ln(count): else words repeated throughout ("film") win. A
    term too rare for the table counts as one of a single review.

    Args:
        frequencies: Columns term, document_frequency, of `count_document_frequencies`.
        n_documents: Reviews that were counted.
        weights: Not used.
    """
    document_frequency = dict(frequencies.select("term", "document_frequency").iter_rows())

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        return {
            term: (1 + log(terms[term])) * (log((1 + n_documents) / (1 + document_frequency.get(term, 1))) + 1)
            for term in eligible(terms, document_frequency)
        }

    return score


def keybert_scorer(frequencies: pl.DataFrame, n_documents: int, weights: Mapping[str, Any] | None = None) -> Scorer:
    """Score by cosine similarity to the review's embedding, with KeyBERT and a sentence-transformers model.

    KeyBERT embeds a review as one text, which depends on the order of its sentences and is cut at the encoder's
    limit. Here the review's embedding is the mean of its sentences' embeddings, weighted by their words, so order
    between sentences has no say. Order within a sentence still has: an encoder reads positions. Keep to "tfidf" where
    that matters.

    Args:
        frequencies: Columns term, document_frequency; `eligible` reads the terms.
        n_documents: Not used.
        weights: Where the sentence-transformers model is, as `homogenization.models.weights.resolve_weights` reads it.

    Raises:
        HomogenizationError: no weights are given, or they are not found or damaged.
    """
    from keybert import KeyBERT
    from sentence_transformers import SentenceTransformer
    from sklearn.feature_extraction.text import CountVectorizer

    from homogenization.models.digests import verified_digests
    from homogenization.models.weights import resolve_weights

    if weights is None:
        raise HomogenizationError(
            "keyphrases: the scorer 'keybert' needs weights under 'keybert', those of a sentence-transformers model."
        )
    resolved = resolve_weights(weights)
    verified_digests(resolved)
    extractor = KeyBERT(SentenceTransformer(resolved.folder, device="cpu"))
    known = set(frequencies["term"])

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        allowed = sorted(eligible(terms, known))
        if not allowed:
            return {}
        sentences = sorted(text[slice(*span)] for span in sentence_spans(text))
        n_words = np.array([len(word_spans(sentence)) for sentence in sentences])
        embedding = n_words @ extractor.model.embed(sentences) / n_words.sum()
        vectorizer = CountVectorizer(analyzer=lambda _: allowed)
        return dict(
            extractor.extract_keywords(
                text, vectorizer=vectorizer, top_n=len(allowed), doc_embeddings=embedding[np.newaxis, :]
            )
        )

    return score


# A scorer of your own is one function here: (frequencies, n_documents, weights) -> Scorer
SCORERS: dict[str, Callable[..., Scorer]] = {"tfidf": tfidf_scorer, "keybert": keybert_scorer}


def make_scorer(
    name: str, frequencies: pl.DataFrame, n_documents: int, weights: Mapping[str, Any] | None = None
) -> Scorer:
    """Make the scorer `name` for a corpus.

    Raises:
        HomogenizationError: there is no scorer of that name.
    """
    if name not in SCORERS:
        raise HomogenizationError(f"keyphrases: scorer '{name}' is unknown. Allowed: {', '.join(SCORERS)}.")
    return SCORERS[name](frequencies, n_documents, weights)


def key_phrases(
    text: str, scorer: Scorer, max_phrases: int, ngram_range: tuple[int, int]
) -> list[tuple[Occurrence, float]]:
    """Choose the key phrases of a review, and find every place where each stands.

    The best candidate is taken first, with all its places that no better phrase overlaps, until `max_phrases` have a
    place. Equal scores are decided by length (longer first), then alphabet, never by position.

    Returns:
        (occurrence, score) in reading order; no two overlap.
    """
    places: dict[str, list[Occurrence]] = {}
    for occurrence in candidates(text, ngram_range):
        places.setdefault(occurrence.term, []).append(occurrence)
    scores = scorer(text, Counter({term: len(found) for term, found in places.items()}))
    chosen: list[tuple[Occurrence, float]] = []
    taken = np.zeros(len(text), dtype=bool)
    n_phrases = 0
    for term in sorted(scores, key=lambda term: (-scores[term], -len(term.split()), term)):
        if n_phrases == max_phrases:
            break
        free = False
        for place in places[term]:
            if not taken[place.start : place.end].any():
                taken[place.start : place.end] = True
                chosen.append((place, float(scores[term])))
                free = True
        n_phrases += free
    return sorted(chosen, key=lambda pair: pair[0].start)


def extract_keyphrases(
    reviews: pl.DataFrame, scorer: Scorer, max_phrases: int, ngram_range: tuple[int, int]
) -> pl.DataFrame:
    """Find the key phrases of each review.

    Args:
        reviews: Columns review_id, text.
        scorer: One of `SCORERS`, made for this corpus.
        max_phrases: Most distinct phrases of a review.
        ngram_range: Fewest and most words of a phrase.

    Returns:
        One row per place of a phrase: review_id, phrase (folded words), score, sentence (0 is the first), start, end
        (characters of the review's text, end exclusive), in the order of `reviews` and then of reading.
    """
    rows = [
        (name, place.term, score, place.sentence, place.start, place.end)
        for name, text in reviews.select("review_id", "text").iter_rows()
        for place, score in key_phrases(text, scorer, max_phrases, ngram_range)
    ]
    return pl.DataFrame(rows, schema=KEYPHRASE_SCHEMA, orient="row")
