"""How well each phrase of a review represents it, by the words of the corpus."""

from collections import Counter
from collections.abc import Collection, Iterator
from math import log

import polars as pl

from homogenization.corpus.sentences import is_stop_word, words
from homogenization.variants.keyphrases import Scorer


def eligible(text: str, terms: Collection[str], known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The terms that may be key phrases, each with its words that are no stop words.

    Each of these words is in the table, or is a rarer one (a hero's name) that the review repeats: a rare word that
    occurs once is most often a misspelling.
    """
    counts = Counter(words(text))
    for term in terms:
        content = [word for word in term.split() if not is_stop_word(word)]
        if content and all(word in known or counts[word] > 1 for word in content):
            yield term, content


def tfidf_scorer(frequencies: pl.DataFrame, n_documents: int) -> Scorer:
    """Score a phrase by the sum over its words of term frequency times inverse document frequency.

    This is the baseline of Hasan and Ng (2010). idf = ln((1 + N) / (1 + df)) + 1 is scikit-learn's smoothed idf over
    the whole corpus: the score of a phrase depends neither on the other reviews of the sample nor on its position. Term
    frequency is 1 + ln(count of the word in the review), since the count itself favours words that are repeated
    throughout ("film"). A word too rare for the table counts as a word of a single review.

    Args:
        frequencies: Columns word, document_frequency, from `count_document_frequencies`.
        n_documents: Number of reviews that were counted.
    """
    document_frequency = dict(frequencies.select("word", "document_frequency").iter_rows())

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        counts = Counter(words(text))
        return {
            term: sum(
                (1 + log(counts[word])) * (log((1 + n_documents) / (1 + document_frequency.get(word, 1))) + 1)
                for word in content
            )
            for term, content in eligible(text, terms, document_frequency)
        }

    return score
