"""Judging of candidates: a text that a language model offers for a review passes, or is refused for a reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import words
from homogenization.run.errors import HomogenizationError
from homogenization.variants.phrases import Phrase, Placement
from homogenization.variants.search import find_again
from homogenization.writers.requests import Completion

REVIEW_SCHEMA = {
    "type": "object",
    "properties": {"review": {"type": "string"}},
    "required": ["review"],
    "additionalProperties": False,
}


class _Answer(BaseModel):
    """The answer that `REVIEW_SCHEMA` describes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    review: str


@dataclass(frozen=True)
class Candidate:
    """A text offered for a review, its measurements, and the reason for a refusal.

    Attributes:
        text: Offered text, cleaned like the corpus; None if the answer could not be read.
        reason: First of `REASONS` that applies; None if the candidate passed.
        finish_reason: `finish_reason` of the completion.
        coverage: Share of the review's distinct key phrases that the text contains; 1 for a review without any.
        distance: Mean distance of the phrases found from the requested side of their sentence, from 0 to 1; None if
            no side is requested, or no phrase found has a position.
        length_ratio: Number of words of the text over that of the review.
        scores: BERTScore against the review: precision, recall and F1; None if it was not computed.
        placements: Placements of the phrases found, from `find_again`.
    """

    text: str | None
    reason: str | None
    finish_reason: str
    coverage: float | None = None
    distance: float | None = None
    length_ratio: float | None = None
    scores: tuple[float, float, float] | None = None
    placements: tuple[Placement, ...] = ()

    @property
    def f1(self) -> float | None:
        """BERTScore F1 against the review; None if it was not computed."""
        return None if self.scores is None else self.scores[2]


# distance of a position from each of `SIDES`
DISTANCES: dict[str, Callable[[float], float]] = {"front": lambda place: place, "end": lambda place: 1 - place}

# Conditions on a candidate, in the order of `REASONS`: (candidate, review, `rewriting` of the configuration) -> passed
FILTERS: dict[str, Callable[[Candidate, str, Mapping[str, Any]], bool]] = {
    "identical": lambda candidate, review, limits: words(candidate.text) != words(review),
    "length": lambda candidate, review, limits: (
        limits["length_ratio"][0] <= candidate.length_ratio <= limits["length_ratio"][1]
    ),
    "coverage": lambda candidate, review, limits: candidate.coverage >= limits["min_coverage"],
    "position": lambda candidate, review, limits: (
        candidate.distance is None or candidate.distance <= limits["max_distance"]
    ),
    "similarity": lambda candidate, review, limits: candidate.f1 is None or candidate.f1 >= limits["min_f1"],
}


def judge(
    completion: Completion, review: str, phrases: Sequence[Phrase], position: str | None, limits: Mapping[str, Any]
) -> Candidate:
    """Judge a completion by all filters except similarity, which `judge_similarity` adds.

    Args:
        completion: The answer of a language model, which should satisfy `REVIEW_SCHEMA`.
        review: The cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        position: "front", "end", or None where the phrases may stand anywhere.
        limits: Limits of the filters: length_ratio (smallest and largest), min_coverage, max_distance.

    Raises:
        HomogenizationError: the position is unknown.
    """
    if position is not None and position not in DISTANCES:
        raise HomogenizationError(
            f"rewriting: no distance from position '{position}' is known. Allowed: {', '.join(DISTANCES)}, or null."
        )
    try:
        text = clean_text(_Answer.model_validate_json(completion.text).review)
    except ValidationError:
        text = None
    # most truncated answers are malformed too, and their length is what the user can change
    if completion.finish_reason == "length":
        return Candidate(text, "truncated", completion.finish_reason)
    if text is None:
        return Candidate(None, "malformed", completion.finish_reason)
    if not words(text):
        return Candidate(text, "empty", completion.finish_reason)
    placements = find_again(review, phrases, text)
    measured = Candidate(
        text,
        None,
        completion.finish_reason,
        coverage=_coverage(phrases, placements),
        distance=None if position is None else _distance(placements, DISTANCES[position]),
        length_ratio=len(words(text)) / len(words(review)),
        placements=tuple(placements),
    )
    return _first_refusal(measured, review, limits)


def judge_similarity(
    candidate: Candidate, review: str, scores: Sequence[float], limits: Mapping[str, Any]
) -> Candidate:
    """Add the BERTScore to a candidate that passed the other filters, and judge it by F1.

    Args:
        candidate: The candidate.
        review: The cleaned review.
        scores: Precision, recall and F1.
        limits: As for `judge`, with min_f1.
    """
    precision, recall, f1 = map(float, scores)
    return _first_refusal(replace(candidate, scores=(precision, recall, f1)), review, limits)


def _first_refusal(candidate: Candidate, review: str, limits: Mapping[str, Any]) -> Candidate:
    reasons = (name for name, passes in FILTERS.items() if not passes(candidate, review, limits))
    return replace(candidate, reason=next(reasons, None))


def _coverage(phrases: Sequence[Phrase], placements: Sequence[Placement]) -> float:
    """The share of distinct phrases that were found."""
    distinct = {phrase.term for phrase in phrases}
    return len({placement.phrase for placement in placements}) / len(distinct) if distinct else 1.0


def _distance(placements: Sequence[Placement], distance: Callable[[float], float]) -> float | None:
    """The mean distance of the placements that have a position; None if each phrase is a whole sentence."""
    distances = [distance(placement.position) for placement in placements if placement.position is not None]
    return sum(distances) / len(distances) if distances else None
