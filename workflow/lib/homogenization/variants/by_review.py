"""Whole reviews as the unit of a rewriting: of each, one candidate after the other is asked for until one passes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import words
from homogenization.run.errors import HomogenizationError
from homogenization.variants.candidates import Candidate, first_failed
from homogenization.variants.llm_rewriting import Assignment, Rewritten, Shard, Unit
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review
from homogenization.variants.refusals import CANDIDATE_SCHEMA
from homogenization.variants.schemas import SCORE_SCHEMA
from homogenization.variants.search import find_again
from homogenization.writers.answers import Proposal
from homogenization.writers.prompts import render
from homogenization.writers.requests import Completion, Request

REVIEW_SCHEMA = {
    "type": "object",
    "properties": {"review": {"type": "string"}},
    "required": ["review"],
    "additionalProperties": False,
}
# distance of a position from each of `SIDES`
DISTANCES: dict[str, Callable[[float], float]] = {"front": lambda place: place, "end": lambda place: 1 - place}


class _Answer(BaseModel):
    """The answer that `REVIEW_SCHEMA` describes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    review: str


@dataclass(frozen=True)
class Review:
    """A review with its key phrases in reading order."""

    name: str
    text: str
    phrases: tuple[Phrase, ...]
    sentence: None = None


class Reviews(Unit):
    """The unit; of the filters it reads min_coverage and max_distance too."""

    schema = CANDIDATE_SCHEMA

    def __init__(self, shard: Shard, assignment: Assignment):
        super().__init__(shard, assignment)
        phrases = phrases_by_review(shard.keyphrases)
        self.tasks = [
            Review(name, text, tuple(phrases.get(name, ())))
            for name, text in shard.reviews.select("review_id", "text").iter_rows()
        ]
        self.rounds = assignment.filters["candidates"]

    def requests(self, task: Review, number: int) -> Iterator[Request]:
        """The request for candidate `number`; it lists each distinct phrase as first written in the review."""
        literal: dict[str, str] = {}
        for phrase in task.phrases:
            literal.setdefault(phrase.term, task.text[phrase.start : phrase.end])
        bullets = "\n".join(f"- {phrase}" for phrase in literal.values())
        messages = render(self.assignment.author.prompt, review=task.text, phrases=bullets)
        yield Request(task.name, messages, REVIEW_SCHEMA, number)

    def judged(self, proposal: Proposal) -> Candidate:
        """As in `Unit`."""
        task, given = proposal.task, self.assignment
        return judge(proposal.completion, task.text, task.phrases, given.position, given.filters)

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The only one: no other is asked for after it."""
        return candidates[0]

    def put_together(
        self, judged: Mapping[Review, Sequence[Candidate]], taken: Mapping[Review, Candidate]
    ) -> tuple[list[Rewritten], dict[str, pl.DataFrame]]:
        """As in `Unit`; `similarity` of these reviews, columns of `SCORE_SCHEMA`, without rows if not measured."""
        rewritten = [(task.name, candidate.text, candidate.placements) for task, candidate in taken.items()]
        scored = [(task.name, candidate.scores) for task, candidate in taken.items() if candidate.scores is not None]
        rows = [(self.assignment.variant, name, *scores) for name, scores in scored]
        return rewritten, {"similarity": pl.DataFrame(rows, schema=SCORE_SCHEMA, orient="row")}


def make_unit(shard: Shard, assignment: Assignment, **means: Any) -> Reviews:
    """The unit; it needs no further means."""
    return Reviews(shard, assignment)


def judge(
    completion: Completion, review: str, phrases: Sequence[Phrase], position: str | None, limits: Mapping[str, Any]
) -> Candidate:
    """Judge a completion by all filters except similarity.

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
    shortest, longest = limits["length_ratio"]
    checks = {
        "identical": words(text) != words(review),
        "length": shortest <= measured.length_ratio <= longest,
        "coverage": measured.coverage >= limits["min_coverage"],
        "position": measured.distance is None or measured.distance <= limits["max_distance"],
    }
    return replace(measured, reason=first_failed(checks))


def _coverage(phrases: Sequence[Phrase], placements: Sequence[Placement]) -> float:
    """The share of distinct phrases that were found."""
    distinct = {phrase.term for phrase in phrases}
    return len({placement.phrase for placement in placements}) / len(distinct) if distinct else 1.0


def _distance(placements: Sequence[Placement], distance: Callable[[float], float]) -> float | None:
    """The mean distance of the placements that have a position; None if each phrase is a whole sentence."""
    distances = [distance(placement.position) for placement in placements if placement.position is not None]
    return sum(distances) / len(distances) if distances else None
