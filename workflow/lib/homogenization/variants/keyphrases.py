"""Key phrases of a review: content phrases, scored independently of their positions."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from homogenization.corpus.sentences import chunks, sentence_spans
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.phrases import Phrase, literal_phrase, overlap
from homogenization.variants.schemas import KEYPHRASE_SCHEMA

# (review, its candidate terms with the number of their places) -> the score of each term that may be a key phrase
Scorer = Callable[[str, Counter[str]], dict[str, float]]


def candidates(text: str, ngram_range: tuple[int, int]) -> list[Phrase]:
    """Every literal run of words that may be a key phrase, in reading order.

    A run lies within one sentence, crosses no punctuation, is made of whole words between spaces, and neither begins
    nor ends with a stop word or a bare number.

    Args:
        text: A cleaned review.
        ngram_range: Smallest and largest number of words of a phrase.
    """
    phrases = []
    for sentence, span in enumerate(sentence_spans(text)):
        parts = chunks(text, *span)
        for first in range(len(parts)):
            lengths = range(ngram_range[0], min(ngram_range[1], len(parts) - first) + 1)
            phrases += [literal_phrase(text, sentence, parts[first : first + length]) for length in lengths]
    return [phrase for phrase in phrases if phrase]


def key_phrases(text: str, phrases: Sequence[Phrase], scorer: Scorer, max_phrases: int) -> list[tuple[Phrase, float]]:
    """Choose the key phrases of a review, with all their places.

    The phrases are taken from the best on, each with all its places that no better phrase overlaps, until
    `max_phrases` have a place. Among equal scores, longer phrases come first, then the alphabet decides.

    Args:
        text: A cleaned review.
        phrases: Those that may be key, in reading order: `candidates`, or `content_candidates`.
        scorer: Scorer of their terms.
        max_phrases: Largest number of distinct phrases.

    Returns:
        (phrase, score) in reading order, without overlaps.
    """
    places: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        places.setdefault(phrase.term, []).append(phrase)
    scores = scorer(text, Counter({term: len(at) for term, at in places.items()}))
    chosen: dict[Phrase, float] = {}
    for term in sorted(scores, key=lambda term: (-scores[term], -len(term.split()), term)):
        if len({phrase.term for phrase in chosen}) == max_phrases:
            break
        for place in places[term]:
            if not any(overlap(place, other) for other in chosen):
                chosen[place] = float(scores[term])
    return sorted(chosen.items(), key=lambda pair: pair[0].start)


def extract_keyphrases(
    reviews: pl.DataFrame, parse: pl.DataFrame, scorer: Scorer, max_phrases: int, ngram_range: tuple[int, int]
) -> pl.DataFrame:
    """Find the key phrases of each review among its content phrases: noun chunks without determiners, and names.

    Args:
        reviews: Columns review_id, text.
        parse: Columns of `PARSE_SCHEMA`, as `parse_reviews` gives them.
        scorer: Scorer of their terms, made for this corpus.
        max_phrases: Largest number of distinct phrases of a review.
        ngram_range: Smallest and largest number of words of a phrase.

    Returns:
        A row for each place of a phrase: review_id, phrase (folded words), score, sentence (from 0), start, end
        (characters of the review's text, end exclusive), in the order of `reviews`, then in reading order.
    """
    parsed = parsed_sentences(reviews, parse)
    found = {}
    for name, text in reviews.select("review_id", "text").iter_rows():
        content = content_candidates(text, parsed[name], ngram_range)
        found[name] = key_phrases(text, content, scorer, max_phrases)
    return keyphrase_table(found)


def content_candidates(text: str, sentences: Sequence[Sentence], ngram_range: tuple[int, int]) -> list[Phrase]:
    """Every literal run of a review's words that is one of its content phrases, there or elsewhere in the review."""
    content = {phrase.term for sentence in sentences for phrase in sentence.content_phrases(ngram_range)}
    return [phrase for phrase in candidates(text, ngram_range) if phrase.term in content]


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
