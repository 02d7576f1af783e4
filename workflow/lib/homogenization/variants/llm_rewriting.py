"""Variants of a review by a language model, which writes candidates of a unit until enough of them pass the filters."""

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from homogenization.variants.phrases import Placement, variant_table
from homogenization.writers.answers import Author, Proposal, ask_in_rounds, passed
from homogenization.writers.requests import Request

logger = logging.getLogger(__name__)

# review_id, text and placements of a review that is rewritten
Rewritten = tuple[str, str, Sequence[Placement]]
# (candidates, their originals) -> BERTScore of each, (candidates, 3): precision, recall, F1
Score = Callable[[list[str], list[str]], np.ndarray]


@dataclass(frozen=True)
class Candidate:
    """A text offered for an original, a review or one of its sentences; its measurements; the reason for a refusal.

    Attributes:
        text: Offered text; None if the answer could not be read.
        reason: First of `REASONS` that applies; None if the candidate passed.
        finish_reason: `finish_reason` of the completion.
        coverage: Share of the review's distinct key phrases that the text contains; 1 for a review without any; None
            for a sentence.
        distance: Mean distance of the phrases found from the requested side of their sentence, from 0 to 1; None if
            no side is requested, no phrase found has a position, or for a sentence.
        length_ratio: Number of words of the text over that of the original.
        scores: BERTScore against the original: precision, recall and F1; None if it was not computed.
        placements: Placements of the phrases found in a review.
        construction: How a writer moved a phrase (`names.variants.CONSTRUCTIONS`); None where it did not say.
        phrase: Folded words of the phrase that it says it moved.
    """

    text: str | None
    reason: str | None
    finish_reason: str
    coverage: float | None = None
    distance: float | None = None
    length_ratio: float | None = None
    scores: tuple[float, float, float] | None = None
    placements: tuple[Placement, ...] = ()
    construction: str | None = None
    phrase: str | None = None

    @property
    def f1(self) -> float | None:
        """BERTScore F1 against the original; None if it was not computed."""
        return None if self.scores is None else self.scores[2]


def first_failed(checks: Mapping[str, bool]) -> str | None:
    """The reason for a refusal: the first check that failed; None if all hold."""
    return next((name for name, holds in checks.items() if not holds), None)


@dataclass(frozen=True)
class Shard:
    """The reviews of a shard.

    Attributes:
        reviews: Columns review_id, text, label.
        keyphrases: Columns of `KEYPHRASE_SCHEMA`, in reading order, as `extract_keyphrases` gives.
        parse: Columns of `PARSE_SCHEMA`; None where whole reviews are rewritten.
    """

    reviews: pl.DataFrame
    keyphrases: pl.DataFrame
    parse: pl.DataFrame | None = None


@dataclass(frozen=True)
class Assignment:
    """What a language model is to write, and what passes.

    Attributes:
        variant: Name of the variant.
        author: Who writes it, by which prompt.
        position: Where the key phrases of each sentence have to go; None if they may stand anywhere.
        filters: Limits of the filters, the section `rewriting` of the configuration: candidates (largest number of
            requests about a unit), length_ratio (smallest and largest), min_f1 (or None); and those of the unit.
        protocol: How sentences are asked for: "grammar" or "json".
        gate: The parser of the gate that sentences pass, as in `parse_reviews`; None where they pass none.
    """

    variant: str
    author: Author
    position: str | None
    filters: Mapping[str, Any]
    protocol: str = "grammar"
    gate: Mapping[str, Any] | None = None


class Task(Protocol):
    """What is rewritten at a time; it has a hash.

    Attributes:
        name: The review_id.
        sentence: Number of the sentence; None for a whole review.
        text: The text.
    """

    name: str
    sentence: int | None
    text: str


class Unit(ABC):
    """The unit of a rewriting: what is asked for at a time, and how its candidates are judged and put together.

    A module `variants.by_X` has one as `make_unit`.

    Args:
        shard: The reviews.
        assignment: The variant.

    Attributes:
        tasks: Every review, or sentence, to rewrite.
        rounds: How often a task is asked about at most, while none of its candidates passes.
        schema: Columns of the table of candidates.
    """

    tasks: Sequence[Task]
    rounds: int
    schema: ClassVar[Mapping[str, Any]]

    def __init__(self, shard: Shard, assignment: Assignment):
        self.shard, self.assignment = shard, assignment

    @abstractmethod
    def requests(self, task: Task, number: int) -> Iterator[Request]:
        """The requests about a task in a round."""

    @abstractmethod
    def judged(self, proposal: Proposal) -> Candidate:
        """The candidate in an answer, judged by all filters but similarity."""

    @abstractmethod
    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The one to take of a task's candidates that passed, at least one."""

    @abstractmethod
    def put_together(
        self, judged: Mapping[Task, Sequence[Candidate]], taken: Mapping[Task, Candidate]
    ) -> tuple[list[Rewritten], dict[str, pl.DataFrame]]:
        """The reviews that are rewritten, in the order of the shard, and tables of this unit alone, by name.

        Args:
            judged: All candidates of each task.
            taken: The candidate of each task that has one that passed.
        """


def rewrite_with_llm(unit: Unit, score: Score | None) -> dict[str, pl.DataFrame]:
    """Write one variant of each review of a shard.

    Args:
        unit: What is rewritten at a time, with the shard and the assignment.
        score: Scorer of similarity, called once in each round; None: it is not measured.

    Returns:
        Tables by name. `variant`: the reviews that were rewritten, in the order of the shard, columns of
        `VARIANT_SCHEMA`; the `sentence` of a placement is its number in the original. `candidates`: all candidates,
        columns of the unit's `schema`; request is the key in the store, text is null if the answer could not be read,
        and reason is null if the candidate passed. And those of the unit.

    Raises:
        HomogenizationError: as `ask_in_rounds`.
    """
    variant, author, reviews = unit.assignment.variant, unit.assignment.author, unit.shard.reviews

    def judge(proposals: Sequence[Proposal]) -> list[Candidate]:
        return _measured(unit, [unit.judged(one) for one in proposals], [one.task.text for one in proposals], score)

    asked = ask_in_rounds(author, unit.tasks, unit.requests, judge, rounds=unit.rounds, n_reviews=len(reviews))
    judged = {task: [candidate for _, candidate in of_task] for task, of_task in asked.items()}
    taken = {task: unit.best(found) for task, of_task in asked.items() if (found := passed(of_task))}
    rewritten, tables = unit.put_together(judged, taken)
    candidates = [
        {"variant": variant, "review_id": task.name, "sentence": task.sentence, "candidate": number}
        | {"request": author.key(request), "taken": taken.get(task) is candidate, "f1": candidate.f1}
        | {name: value for name, value in vars(candidate).items() if name in unit.schema}
        for task, of_task in asked.items()
        for number, (request, candidate) in enumerate(of_task)
    ]
    _report([candidate["reason"] for candidate in candidates], len(rewritten), len(reviews), author)
    return {
        "variant": variant_table(variant, reviews, rewritten),
        "candidates": pl.DataFrame(candidates, unit.schema),
        **tables,
    }


def _measured(
    unit: Unit, candidates: Sequence[Candidate], originals: Sequence[str], score: Score | None
) -> list[Candidate]:
    """The candidates; those that passed are measured against what they are offered for, and judged by F1."""
    ahead = [number for number, candidate in enumerate(candidates) if candidate.reason is None]
    texts, min_f1 = [candidates[number].text for number in ahead], unit.assignment.filters["min_f1"]
    scores = score(texts, [originals[number] for number in ahead]) if score else [None] * len(ahead)
    found = list(candidates)
    for number, row in zip(ahead, scores, strict=True):
        triple = None if row is None else tuple(map(float, row))
        is_unlike = min_f1 is not None and triple is not None and not triple[2] >= min_f1
        reason = "similarity" if is_unlike else None
        found[number] = replace(candidates[number], scores=triple, reason=reason)
    return found


def _report(reasons: Sequence[str | None], n_rewritten: int, n_reviews: int, author: Author) -> None:
    """Log how many reviews were rewritten, and the reasons for refusals; warn where none was."""
    refused = Counter(reason for reason in reasons if reason is not None)
    told = ", ".join(f"{reason} {count}" for reason, count in refused.most_common()) or "none"
    logger.info("%d of %d reviews were rewritten; refused candidates: %s", n_rewritten, n_reviews, told)
    if n_rewritten == 0:
        logger.warning(
            "rewriting: none of the %d reviews of this shard was rewritten; refused: %s. The shard goes on without "
            "any. Read some answers in %s (nothing that is there is asked again). To change this, relax the limits "
            "under 'rewriting', raise its 'candidates' or the writer's max_new_tokens (truncated), edit the prompt, or "
            "use a more able writer.",
            n_reviews,
            told,
            author.store.folder,
        )
