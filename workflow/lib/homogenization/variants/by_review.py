"""Whole reviews as the unit of a rewriting: of each, one candidate after the other is asked for until one passes."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import PUNCTUATION, Span, places, sentence_spans, words
from homogenization.variants.llm_rewriting import Assignment, Candidate, Rewritten, Shard, Unit, first_failed
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence
from homogenization.variants.refusals import CANDIDATE_SCHEMA
from homogenization.variants.schemas import SCORE_SCHEMA
from homogenization.writers.answers import Proposal
from homogenization.writers.prompts import render
from homogenization.writers.requests import Answer, Completion, Request

# distance of a position from each of `SIDES`
DISTANCES: dict[str, Callable[[float], float]] = {"front": lambda place: place, "end": lambda place: 1 - place}
_BREAKS = PUNCTUATION - {"."}  # within a sentence, a dot before white space belongs to an abbreviation ("Dr.")


class _Answer(Answer):
    review: str


REVIEW_SCHEMA = _Answer.model_json_schema()


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
        return judge(proposal.completion, proposal.task, self.assignment.position, self.assignment.filters)

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


make_unit = Reviews  # what the module of a unit is asked for


def judge(completion: Completion, task: Review, position: str | None, limits: Mapping[str, Any]) -> Candidate:
    """Judge a completion by all filters except similarity.

    Args:
        completion: The answer of a language model, which should satisfy `REVIEW_SCHEMA`.
        task: The cleaned review, with phrases that do not overlap.
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
    return replace(measured, reason=first_failed(checks))


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
