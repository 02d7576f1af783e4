"""Key phrases that a language model chooses: the rank in its list gives the score, a search the places."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from homogenization.variants.keyphrases import Scorer, candidates, key_phrases, keyphrase_table
from homogenization.variants.phrases import Phrase, term_of
from homogenization.writers.answers import Author, Proposal, ask_in_rounds, passed
from homogenization.writers.prompts import render
from homogenization.writers.requests import Answer, Request

logger = logging.getLogger(__name__)


class _Answer(Answer):
    key_phrases: list[str]


KEY_PHRASES_SCHEMA = _Answer.model_json_schema()


class _Choice(NamedTuple):
    """What an answer lists (None: it is malformed), how many of these are not literal, and which are used."""

    listed: list[str] | None
    n_dropped: int
    phrases: list[tuple[Phrase, float]]
    reason: str | None  # why the model is asked again


def extract_keyphrases_with_llm(
    reviews: pl.DataFrame,
    author: Author,
    max_phrases: int,
    ngram_range: tuple[int, int],
    n_candidates: int,
) -> pl.DataFrame:
    """Find the key phrases of each review.

    A phrase of the model is used if it is a literal candidate of the review (`keyphrases.candidates`). If an answer is
    malformed or holds no such phrase, the model gets another request, up to `n_candidates` in all.

    Args:
        reviews: Columns review_id, text.
        author: Language model that chooses the phrases; $review and $max_phrases of its prompt have values.
        max_phrases: Largest number of distinct phrases of a review.
        ngram_range: Smallest and largest number of words of a phrase.
        n_candidates: Largest number of requests for a review.

    Returns:
        A table like that of `extract_keyphrases`; score is 1 / (1 + rank), where the model's first phrase has rank 0. A
        review without a usable answer has no row; a warning names it.

    Raises:
        HomogenizationError: as `ask_in_rounds`.
    """
    texts = dict(reviews.select("review_id", "text").iter_rows())

    def request(name: str, number: int) -> Request:
        messages = render(author.prompt, review=texts[name], max_phrases=max_phrases)
        return Request(name, messages, KEY_PHRASES_SCHEMA, number)

    def chosen(proposal: Proposal) -> _Choice:
        text, answer = texts[proposal.task], _Answer.read(proposal.completion)
        listed = answer and answer.key_phrases
        literal = candidates(text, ngram_range)
        terms = {phrase.term for phrase in literal}
        n_dropped = sum(term_of(phrase) not in terms for phrase in listed or [])
        chosen = key_phrases(text, literal, ranked_scorer(listed or []), max_phrases)
        return _Choice(listed, n_dropped, chosen, None if chosen else "no phrase")

    judged = ask_in_rounds(
        author, texts, request, lambda proposals: [*map(chosen, proposals)], rounds=n_candidates, n_reviews=len(texts)
    )
    choices = [choice for of_review in judged.values() for _, choice in of_review]
    logger.info(
        "%d of %d phrases were dropped: no literal candidates of their review; %d answers were malformed",
        sum(choice.n_dropped for choice in choices),
        sum(len(choice.listed or []) for choice in choices),
        sum(choice.listed is None for choice in choices),
    )
    keyphrases = {
        name: [pair for choice in passed(of_review) for pair in choice.phrases] for name, of_review in judged.items()
    }
    for name, phrases in keyphrases.items():
        if not phrases:
            logger.warning("review %s: no key phrase in %d answers; it goes on without any", name, n_candidates)
    return keyphrase_table(keyphrases)


def ranked_scorer(phrases: Sequence[str]) -> Scorer:
    """A scorer by rank in a list, best first; terms that are not in the list get no score."""
    ranks: dict[str, int] = {}
    for phrase in phrases:
        ranks.setdefault(term_of(phrase), len(ranks))

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        return {term: 1 / (1 + rank) for term, rank in ranks.items() if term in terms}

    return score
