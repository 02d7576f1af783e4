"""Key phrases that a language model chooses: the rank in its list gives the score, a search the places."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from homogenization.corpus.sentences import words
from homogenization.variants.keyphrases import Scorer, candidates, key_phrases, keyphrase_table
from homogenization.variants.phrases import Phrase
from homogenization.writers.answers import RequestStore, answered, refuse_unanswered
from homogenization.writers.prompts import render
from homogenization.writers.requests import Completion, Failure, Request, Writer

logger = logging.getLogger(__name__)

KEY_PHRASES_SCHEMA = {
    "type": "object",
    "properties": {"key_phrases": {"type": "array", "items": {"type": "string"}}},
    "required": ["key_phrases"],
    "additionalProperties": False,
}


class _Answer(BaseModel):
    """The answer that `KEY_PHRASES_SCHEMA` describes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key_phrases: list[str]


def extract_keyphrases_with_llm(
    reviews: pl.DataFrame,
    writer: Writer,
    store: RequestStore,
    prompt: Mapping[str, Any],
    max_phrases: int,
    ngram_range: tuple[int, int],
    n_candidates: int,
) -> pl.DataFrame:
    """Find the key phrases of each review.

    A phrase of the model is used if it is a literal candidate of the review (`keyphrases.candidates`). If an answer is
    malformed or holds no such phrase, the model gets another request, up to `n_candidates` in all.

    Args:
        reviews: Columns review_id, text.
        writer: Language model that chooses the phrases.
        store: Store of the answers.
        prompt: Prompt from `load_prompt`; $review and $max_phrases have values.
        max_phrases: Largest number of distinct phrases of a review.
        ngram_range: Smallest and largest number of words of a phrase.
        n_candidates: Largest number of requests for a review.

    Returns:
        A table like that of `extract_keyphrases`; score is 1 / (1 + rank), where the model's first phrase has rank 0. A
        review without a usable answer has no row; a warning names it.

    Raises:
        HomogenizationError: reviews got no answer (the answers to all other requests are stored first), or no request
            can succeed.
    """
    texts = dict(reviews.select("review_id", "text").iter_rows())
    keyphrases: dict[str, list[tuple[Phrase, float]]] = {name: [] for name in texts}
    failures: dict[str, Failure] = {}
    n_listed = n_dropped = n_malformed = 0
    waiting = list(texts)
    for number in range(n_candidates):
        requests = [_request(prompt, name, texts[name], max_phrases, number) for name in waiting]
        for name, answer in zip(waiting, answered(store, writer, requests), strict=True):
            if isinstance(answer, Failure):
                failures[name] = answer
                continue
            phrases = _listed(answer)
            n_malformed += phrases is None
            literal = candidates(texts[name], ngram_range)
            terms = {phrase.term for phrase in literal}
            n_listed += len(phrases or [])
            n_dropped += sum(_term(phrase) not in terms for phrase in phrases or [])
            keyphrases[name] = key_phrases(texts[name], literal, ranked_scorer(phrases or []), max_phrases)
        waiting = [name for name in waiting if not keyphrases[name] and name not in failures]
    refuse_unanswered(failures, len(texts))
    logger.info(
        "%d of %d phrases were dropped: no literal candidates of their review; %d answers were malformed",
        n_dropped,
        n_listed,
        n_malformed,
    )
    for name in waiting:
        logger.warning("review %s: no key phrase in %d answers; it goes on without any", name, n_candidates)
    return keyphrase_table(keyphrases)


def ranked_scorer(phrases: Sequence[str]) -> Scorer:
    """A scorer by rank in a list, best first; terms that are not in the list get no score."""
    ranks: dict[str, int] = {}
    for phrase in phrases:
        ranks.setdefault(_term(phrase), len(ranks))

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        return {term: 1 / (1 + rank) for term, rank in ranks.items() if term in terms}

    return score


def _request(prompt: Mapping[str, Any], name: str, text: str, max_phrases: int, number: int) -> Request:
    messages = render(prompt, review=text, max_phrases=max_phrases)
    return Request(name, messages, KEY_PHRASES_SCHEMA, number)


def _listed(answer: Completion) -> list[str] | None:
    """The phrases of an answer; None where it is malformed."""
    try:
        return _Answer.model_validate_json(answer.text).key_phrases
    except ValidationError:
        return None


def _term(phrase: str) -> str:
    """The folded words of a phrase, as in `Phrase.term`."""
    return " ".join(words(phrase))
