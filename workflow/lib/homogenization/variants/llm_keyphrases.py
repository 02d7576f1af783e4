"""Key phrases that a language model chooses: its list, best first, is the score; their places are found as ever."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from homogenization.corpus.sentences import words
from homogenization.variants.keyphrases import KEYPHRASE_SCHEMA, Occurrence, Scorer, candidates, key_phrases
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

    Of a model's phrases those count that are literal candidates of the review (`keyphrases.candidates`). A review
    whose answer is malformed or holds none of these is asked again, up to `n_candidates` times.

    Args:
        reviews: Columns review_id, text.
        writer: The language model.
        store: Where answers are kept.
        prompt: From `load_prompt`; $review and $max_phrases have values.
        max_phrases: Most distinct phrases of a review.
        ngram_range: Fewest and most words of a phrase.
        n_candidates: How often a review is asked for at most.

    Returns:
        As `extract_keyphrases`; score is 1 / (1 + rank), rank 0 the model's first. A review without a usable answer
        has no row, which a warning says.

    Raises:
        HomogenizationError: reviews got no answer (all others are asked and their answers stored before), or no
            request can succeed.
    """
    texts = dict(reviews.select("review_id", "text").iter_rows())
    found: dict[str, list[tuple[Occurrence, float]]] = {name: [] for name in texts}
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
            literal = {occurrence.term for occurrence in candidates(texts[name], ngram_range)}
            n_listed += len(phrases or [])
            n_dropped += sum(_term(phrase) not in literal for phrase in phrases or [])
            found[name] = key_phrases(texts[name], ranked_scorer(phrases or []), max_phrases, ngram_range)
        waiting = [name for name in waiting if not found[name] and name not in failures]
    refuse_unanswered(failures, len(texts))
    logger.info(
        "%d of %d phrases were dropped: no literal candidates of their review; %d answers were malformed",
        n_dropped,
        n_listed,
        n_malformed,
    )
    for name in waiting:
        logger.warning("review %s: no key phrase in %d answers; it goes on without any", name, n_candidates)
    rows = [
        (name, place.term, score, place.sentence, place.start, place.end)
        for name, places in found.items()
        for place, score in places
    ]
    return pl.DataFrame(rows, schema=KEYPHRASE_SCHEMA, orient="row")


def ranked_scorer(phrases: Sequence[str]) -> Scorer:
    """Score by rank in a list, best first; terms that it lacks are out."""
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
    """The folded words of a phrase, as `Occurrence.term` has them."""
    return " ".join(words(phrase))
