"""Variants of a review by a language model, which writes one candidate after the other until one passes the filters."""

import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import PUNCTUATION, Span, places, sentence_spans, words
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence, variant_table
from homogenization.variants.schemas import CANDIDATE_SCHEMA, SCORE_SCHEMA
from homogenization.writers.answers import Author, Proposal, ask_in_rounds
from homogenization.writers.prompts import render
from homogenization.writers.requests import Answer, Completion, Request

logger = logging.getLogger(__name__)

# (candidates, their originals) -> BERTScore of each, (candidates, 3): precision, recall, F1
Score = Callable[[list[str], list[str]], np.ndarray]
# distance of a position from each of `SIDES`
DISTANCES: dict[str, Callable[[float], float]] = {"front": lambda place: place, "end": lambda place: 1 - place}
_BREAKS = PUNCTUATION - {"."}  # within a sentence, a dot before white space belongs to an abbreviation ("Dr.")


class _Answer(Answer):
    review: str


REVIEW_SCHEMA = _Answer.model_json_schema()


@dataclass(frozen=True)
class Review:
    """A review with its key phrases in reading order, which do not overlap."""

    name: str
    text: str
    phrases: tuple[Phrase, ...]


@dataclass(frozen=True)
class Candidate:
    """A text offered for a review; its measurements; the reason for a refusal.

    Attributes:
        text: Offered text; None if the answer could not be read.
        reason: First of `REASONS` that applies; None if the candidate passed.
        finish_reason: `finish_reason` of the completion.
        coverage: Share of the review's distinct key phrases that the text contains; 1 for a review without any.
        distance: Mean distance of the phrases found from the requested side of their sentence, from 0 to 1; None if
            no side is requested, or no phrase found has a position.
        length_ratio: Number of words of the text over that of the original.
        scores: BERTScore against the original: precision, recall and F1; None if it was not computed.
        placements: Placements of the phrases found.
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
        """BERTScore F1 against the original; None if it was not computed."""
        return None if self.scores is None else self.scores[2]


def rewrite_with_llm(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    author: Author,
    *,
    variant: str,
    position: str | None,
    filters: Mapping[str, Any],
    score: Score | None,
) -> dict[str, pl.DataFrame]:
    """Write one variant of each review of a shard.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns of `KEYPHRASE_SCHEMA`, in reading order, as `extract_keyphrases` gives.
        author: Who writes, by which prompt.
        variant: Name of the variant.
        position: Side of each sentence where the key phrases have to go; None if they may stand anywhere.
        filters: The section `rewriting` of the configuration: candidates (requests about a review at most),
            length_ratio (least and largest), min_coverage, max_distance, min_f1 (or None).
        score: Scorer of similarity, called once in each round; None: it is not measured.

    Returns:
        Tables by name. `variant`: the reviews that were rewritten, in the order of the shard, columns of
        `VARIANT_SCHEMA`; the `sentence` of a placement is its number in the original. `candidates`: all candidates,
        columns of `CANDIDATE_SCHEMA`; request is the key in the store, text is null if the answer could not be read,
        and reason is null if the candidate passed. `similarity`: of the reviews that were rewritten, columns of
        `SCORE_SCHEMA`, without rows if it was not measured.

    Raises:
        HomogenizationError: as `ask_in_rounds`.
    """
    phrases = phrases_by_review(keyphrases)
    tasks = [
        Review(name, text, tuple(phrases.get(name, ())))
        for name, text in reviews.select("review_id", "text").iter_rows()
    ]

    def request(task: Review, number: int) -> Request:
        literal: dict[str, str] = {}  # each distinct phrase as first written in the review
        for phrase in task.phrases:
            literal.setdefault(phrase.term, task.text[phrase.start : phrase.end])
        bullets = "\n".join(f"- {phrase}" for phrase in literal.values())
        return Request(task.name, render(author.prompt, review=task.text, phrases=bullets), REVIEW_SCHEMA, number)

    def judged(proposals: Sequence[Proposal]) -> list[Candidate]:
        found = [judge(one.completion, one.task, position, filters) for one in proposals]
        return _measured(found, [one.task.text for one in proposals], score, filters["min_f1"])

    asked = ask_in_rounds(author, tasks, request, judged, rounds=filters["candidates"], n_reviews=len(reviews))
    candidates = [
        {"variant": variant, "review_id": task.name, "candidate": number, "request": author.key(one)}
        | {"f1": candidate.f1}
        | {name: value for name, value in vars(candidate).items() if name in CANDIDATE_SCHEMA}
        for task, of_task in asked.items()
        for number, (one, candidate) in enumerate(of_task)
    ]
    # no other is asked for after the one that passed
    taken = [(task, one) for task, of_task in asked.items() for _, one in of_task if one.reason is None]
    scores = [(variant, task.name, *one.scores) for task, one in taken if one.scores is not None]
    _report([candidate["reason"] for candidate in candidates], len(taken), len(reviews), author)
    return {
        "variant": variant_table(variant, reviews, [(task.name, one.text, one.placements) for task, one in taken]),
        "candidates": pl.DataFrame(candidates, CANDIDATE_SCHEMA),
        "similarity": pl.DataFrame(scores, SCORE_SCHEMA, orient="row"),
    }


def judge(completion: Completion, task: Review, position: str | None, limits: Mapping[str, Any]) -> Candidate:
    """Judge a completion by all filters except similarity.

    Args:
        completion: The answer of a language model, which should satisfy `REVIEW_SCHEMA`.
        task: The cleaned review.
        position: One of `DISTANCES`, or None where the phrases may stand anywhere.
        limits: Limits of the filters: length_ratio (smallest and largest), min_coverage, max_distance.
    """
    answer, finish = _Answer.read(completion), completion.finish_reason
    text = answer and clean_text(answer.review)
    # most truncated answers are malformed too, and their length is what the user can change
    if finish == "length":
        return Candidate(text, "truncated", finish)
    if text is None:
        return Candidate(None, "malformed", finish)
    if not words(text):
        return Candidate(text, "empty", finish)
    placements = find_again(task.text, task.phrases, text)
    terms, found = {phrase.term for phrase in task.phrases}, {placement.phrase for placement in placements}
    stand = [place for placement in placements if position and (place := placement.position) is not None]
    measured = Candidate(
        text,
        None,
        finish,
        coverage=len(found) / len(terms) if terms else 1.0,
        distance=sum(map(DISTANCES[position], stand)) / len(stand) if stand else None,
        length_ratio=len(words(text)) / len(words(task.text)),
        placements=tuple(placements),
    )
    shortest, longest = limits["length_ratio"]
    checks = {
        "identical": words(text) != words(task.text),
        "length": shortest <= measured.length_ratio <= longest,
        "coverage": measured.coverage >= limits["min_coverage"],
        "position": measured.distance is None or measured.distance <= limits["max_distance"],
    }
    return replace(measured, reason=next((name for name, holds in checks.items() if not holds), None))


def find_again(original: str, phrases: Sequence[Phrase], rewritten: str) -> list[Placement]:
    """Find the phrases of `original` in `rewritten`; the n-th phrase with a term gets the n-th place of the term.

    A place is a run of the term's folded words in a sentence, separated by white space without punctuation. Places do
    not overlap; the search takes longer terms first.

    Args:
        original: A cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        rewritten: A cleaned text.

    Returns:
        A placement for each phrase that was found, in the order of `phrases`; `sentence` is its number in `original`.
    """
    spans, new_spans = sentence_spans(original), sentence_spans(rewritten)
    sentence_ends = [end for _, end in new_spans]

    def is_unbroken(run: Sequence[Span]) -> bool:
        gaps = [rewritten[end:start] for (_, end), (start, _) in pairwise(run)]
        is_in_one = bisect_right(sentence_ends, run[0][0]) == bisect_right(sentence_ends, run[-1][0])
        return is_in_one and all(_BREAKS.isdisjoint(gap) and any(map(str.isspace, gap)) for gap in gaps)

    found = places(rewritten, {phrase.term for phrase in phrases}, is_unbroken)
    placements = []
    for phrase in phrases:
        if found[phrase.term]:
            start, _ = found[phrase.term].pop(0)
            before = place_in_sentence(original, spans[phrase.sentence], phrase.start, phrase.term)
            after = place_in_sentence(rewritten, new_spans[bisect_right(sentence_ends, start)], start, phrase.term)
            placements.append(Placement(phrase.term, phrase.sentence, before, after))
    return placements


def _measured(
    candidates: Sequence[Candidate], originals: Sequence[str], score: Score | None, min_f1: float | None
) -> list[Candidate]:
    """The candidates; those that passed are measured against their originals, and judged by F1."""
    ahead = [number for number, candidate in enumerate(candidates) if candidate.reason is None]
    if score is None or not ahead:
        return list(candidates)
    found = list(candidates)
    scores = score([candidates[number].text for number in ahead], [originals[number] for number in ahead])
    for number, row in zip(ahead, scores, strict=True):
        triple = tuple(map(float, row))
        is_unlike = min_f1 is not None and not triple[2] >= min_f1
        found[number] = replace(candidates[number], scores=triple, reason="similarity" if is_unlike else None)
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
