"""Variants of a review by a language model, which writes candidates until one passes the filters."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from homogenization.variants.candidates import REVIEW_SCHEMA, Candidate, judge, judge_similarity
from homogenization.variants.phrases import Phrase, phrases_by_review
from homogenization.variants.refusals import CANDIDATE_SCHEMA
from homogenization.variants.schemas import SCORE_SCHEMA, VARIANT_SCHEMA
from homogenization.writers.answers import RequestStore, answered, refuse_unanswered
from homogenization.writers.prompts import render
from homogenization.writers.requests import Failure, Request, Writer

logger = logging.getLogger(__name__)

# (candidates, their originals) -> BERTScore of each, (candidates, 3): precision, recall, F1
Score = Callable[[list[str], list[str]], np.ndarray]


@dataclass(frozen=True)
class Review:
    """A review with its key phrases in reading order."""

    name: str
    text: str
    label: str | None
    phrases: tuple[Phrase, ...]


def rewrite_with_llm(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    variant: str,
    writer: Writer,
    store: RequestStore,
    prompt: Mapping[str, Any],
    position: str | None,
    filters: Mapping[str, Any],
    score: Score | None,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Write one variant of each review.

    In each round, the writer gets a request for the next candidate of each review that has no passing one yet. The
    first candidate that passes is taken.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns review_id, phrase, sentence, start, end, in reading order, as `extract_keyphrases` gives.
        variant: Name of the variant.
        writer: Language model that writes the variants.
        store: Store of the answers.
        prompt: Prompt from `load_prompt`; $review and $phrases have values.
        position: Side of a sentence for the phrases, one of `SIDES`; None if the prompt asks for no place.
        filters: Limits of the filters: candidates (largest number of requests for a review), min_coverage,
            max_distance, length_ratio, min_f1.
        score: Scorer of similarity, called once in each round; None if min_f1 is None.

    Returns:
        Three tables. The first holds the reviews that have a passing candidate, in the order of `reviews`: columns of
        `VARIANT_SCHEMA`, with placements of the phrases that were found (`sentence` is its number in the original). The
        second holds all candidates: columns of `CANDIDATE_SCHEMA`; request is the key in the store, text is null if the
        answer could not be read, and reason is null if the candidate passed. The third holds the similarity of the
        reviews in the first, columns of `SCORE_SCHEMA`; without `score`, no row.

    Raises:
        HomogenizationError: reviews got no answer (the answers to all other requests are stored first), or no request
            can succeed.
    """
    shard = _with_phrases(reviews, keyphrases)
    judged: dict[str, list[tuple[str, Candidate]]] = {review.name: [] for review in shard}
    failures: dict[str, Failure] = {}
    waiting = shard
    for number in range(filters["candidates"]):
        requests = [_request(prompt, review, number) for review in waiting]
        offers = []
        for review, request, answer in zip(waiting, requests, answered(store, writer, requests), strict=True):
            if isinstance(answer, Failure):
                failures[review.name] = answer
            else:
                candidate = judge(answer, review.text, review.phrases, position, filters)
                offers.append((review, store.key(writer, request), candidate))
        if score is not None:
            offers = _with_similarity(offers, filters, score)
        for review, key, candidate in offers:
            judged[review.name].append((key, candidate))
        waiting = [review for review, _, candidate in offers if candidate.reason is not None]
    refuse_unanswered(failures, len(shard))
    _report(judged, store)
    return _rewritten(shard, judged, variant), _candidates(judged, variant), _similarity(judged, variant)


def _with_phrases(reviews: pl.DataFrame, keyphrases: pl.DataFrame) -> list[Review]:
    phrases = phrases_by_review(keyphrases)
    return [
        Review(name, text, label, tuple(phrases.get(name, ())))
        for name, text, label in reviews.select("review_id", "text", "label").iter_rows()
    ]


def _request(prompt: Mapping[str, Any], review: Review, number: int) -> Request:
    """The request for candidate `number` of a review; it lists each distinct phrase as first written in the review."""
    literal: dict[str, str] = {}
    for phrase in review.phrases:
        literal.setdefault(phrase.term, review.text[phrase.start : phrase.end])
    bullets = "\n".join(f"- {phrase}" for phrase in literal.values())
    return Request(review.name, render(prompt, review=review.text, phrases=bullets), REVIEW_SCHEMA, number)


def _with_similarity(
    offers: Sequence[tuple[Review, str, Candidate]], filters: Mapping[str, Any], score: Score
) -> list[tuple[Review, str, Candidate]]:
    """Judge by similarity those candidates that passed all other filters."""
    passed = [(review, candidate) for review, _, candidate in offers if candidate.reason is None]
    scores = iter(score([candidate.text for _, candidate in passed], [review.text for review, _ in passed]))
    return [
        (review, key, judge_similarity(candidate, review.text, next(scores), filters))
        if candidate.reason is None
        else (review, key, candidate)
        for review, key, candidate in offers
    ]


def _report(judged: Mapping[str, Sequence[tuple[str, Candidate]]], store: RequestStore) -> None:
    """Log how many reviews have a passing candidate, and the reasons for refusals; warn where none has one."""
    candidates = [candidate for of_review in judged.values() for _, candidate in of_review]
    n_passed = sum(candidate.reason is None for candidate in candidates)
    refused = Counter(candidate.reason for candidate in candidates if candidate.reason is not None)
    reasons = ", ".join(f"{reason} {count}" for reason, count in refused.most_common()) or "none"
    logger.info("%d of %d reviews were rewritten; refused candidates: %s", n_passed, len(judged), reasons)
    if n_passed == 0:
        logger.warning(
            "rewriting: none of the %d reviews of this shard has a candidate that passed; refused: %s. The shard goes "
            "on without any. Read some answers in %s (nothing that is there is asked again). To change this, relax the "
            "limits under 'rewriting', raise its 'candidates' or the writer's max_new_tokens (truncated), edit the "
            "prompt, or use a more able writer.",
            len(judged),
            reasons,
            store.folder,
        )


def _rewritten(
    shard: Sequence[Review], judged: Mapping[str, Sequence[tuple[str, Candidate]]], variant: str
) -> pl.DataFrame:
    rows = [
        (variant, review.name, candidate.text, review.label, [asdict(placement) for placement in candidate.placements])
        for review in shard
        for _, candidate in judged[review.name]
        if candidate.reason is None
    ]
    return pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row")


def _candidates(judged: Mapping[str, Sequence[tuple[str, Candidate]]], variant: str) -> pl.DataFrame:
    measured = ("text", "reason", "coverage", "distance", "length_ratio", "f1", "finish_reason")
    rows = [
        (variant, name, number, request, *(getattr(candidate, column) for column in measured))
        for name, of_review in judged.items()
        for number, (request, candidate) in enumerate(of_review)
    ]
    return pl.DataFrame(rows, schema=CANDIDATE_SCHEMA, orient="row")


def _similarity(judged: Mapping[str, Sequence[tuple[str, Candidate]]], variant: str) -> pl.DataFrame:
    rows = [
        (variant, name, *candidate.scores)
        for name, of_review in judged.items()
        for _, candidate in of_review
        if candidate.reason is None and candidate.scores is not None
    ]
    return pl.DataFrame(rows, schema=SCORE_SCHEMA, orient="row")
