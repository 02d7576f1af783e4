"""Sentences as the unit of a rewriting: in each, one key phrase moves; the best of all candidates is taken."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl

from homogenization.names.variants import SIDES
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.gate import Gate
from homogenization.variants.llm_rewriting import Assignment, Candidate, Rewritten, Shard, Unit
from homogenization.variants.mirrors import beginnings
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence, position_of
from homogenization.variants.refusals import OUTCOMES, REASONS, SENTENCE_CANDIDATE_SCHEMA, SENTENCE_SCHEMA
from homogenization.variants.sentence_answers import (
    CONSTRUCTION_SCHEMA,
    Task,
    frame_in,
    judge_construction,
    judge_sentence,
)
from homogenization.variants.sentence_grammars import grammars, is_at, place_of
from homogenization.writers.answers import Proposal
from homogenization.writers.prompts import render
from homogenization.writers.requests import Request

logger = logging.getLogger(__name__)

# review_id and number of a sentence
Place = tuple[str, int]
# other words that a sentence needs, so that its phrase can stand within it
FEWEST_OTHERS = 4
# what $place says of a position, with the protocol "json"
PLACES = {
    "front": "at the beginning of the sentence",
    "end": "at the end of the sentence",
    "inward": "within the sentence, with words on both sides of it",
    None: "anywhere in the sentence",
}


class Sentences(Unit):
    """The unit; of the filters it reads min_moved too: a review's least share of moved sentences among those to move.

    In each sentence with key phrases, one of them moves: the best-scored that stands there once, leaves `FEWEST_OTHERS`
    other words, and belongs to no other noun, or else any such. This does not depend on the position, so that all
    variants rewrite the same sentences for the sake of the same phrases. All candidates of all sentences are asked for
    at once. Of those that pass the filters, the one with the highest F1 is taken. A sentence without one, and a
    sentence without key phrases, stays as it is to the byte, and so does one whose phrase already stands at the front,
    or at the end, where it is to go. A review is rewritten if enough of its sentences moved.

    With the protocol "grammar", the prompt gives values to $sentence and $phrase, and the writer holds its answers to
    regular expressions. With "json", it gives $sentence, $phrases and $place; the writer says by which construction it
    moves which phrase, or declines, and its one answer passes a gate.
    """

    schema = SENTENCE_CANDIDATE_SCHEMA
    rounds = 1

    def __init__(self, shard: Shard, assignment: Assignment):
        super().__init__(shard, assignment)
        self._gate = Gate(assignment.gate) if assignment.gate else None
        self._sentences = parsed_sentences(shard.reviews, shard.parse)
        self._phrases = phrases_by_review(shard.keyphrases)
        best_first = phrases_by_review(shard.keyphrases.sort("score", descending=True, maintain_order=True))
        # of each sentence with key phrases; None where none can move
        self._task_at: dict[Place, Task | None] = {
            (name, number): _task(name, self._sentences[name][number], best_first[name])
            for name, phrases in self._phrases.items()
            for number in dict.fromkeys(phrase.sentence for phrase in phrases)
        }
        movable = [task for task in self._task_at.values() if task]
        side = assignment.position if assignment.position in SIDES else None
        self.tasks = [
            task for task in movable if side is None or not is_at(side, task.term, task.text, task.frame.lead)
        ]

    def requests(self, task: Task, number: int) -> Iterator[Request]:
        """The requests for all candidates: each grammar in turn, then each once more with another seed; or one."""
        author, most = self.assignment.author, self.assignment.filters["candidates"]
        if self.assignment.protocol == "json":
            bullets = "\n".join(f"- {frame_in(task.parsed, phrase).phrase}" for phrase in task.phrases)
            values = {"sentence": task.frame.core + task.frame.stop, "place": PLACES[self.assignment.position]}
            yield Request(task.name, render(author.prompt, phrases=bullets, **values), CONSTRUCTION_SCHEMA, 0)
            return
        regexes = grammars(task.frame, self.assignment.position, beginnings(task.parsed, task.phrase))
        messages = render(author.prompt, sentence=task.frame.core + task.frame.stop, phrase=task.frame.phrase)
        for sample in range(min(most, len(regexes)) if author.is_greedy else most):
            yield Request(task.name, messages, None, sample // len(regexes), regexes[sample % len(regexes)])

    def judged(self, proposal: Proposal) -> Candidate:
        """As in `Unit`; the gate comes last."""
        regex, given = proposal.request.regex, self.assignment
        if given.protocol == "json":
            candidate = judge_construction(proposal.completion, proposal.task, given.position, given.filters)
        else:
            candidate = judge_sentence(proposal.completion, regex, proposal.task, given.position, given.filters)
        if self._gate is None or candidate.reason is not None:
            return candidate
        return replace(candidate, reason=self._gate(proposal.task.parsed, candidate.text, candidate.construction))

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The one with the highest F1; the first of equals."""
        return max(candidates, key=lambda one: one.f1)

    def put_together(
        self, judged: Mapping[Task, Sequence[Candidate]], taken: Mapping[Task, Candidate]
    ) -> tuple[list[Rewritten], dict[str, pl.DataFrame]]:
        """As in `Unit`; `sentences`: what became of those with key phrases, columns of `SENTENCE_SCHEMA`."""
        outcomes = self._outcomes(judged, taken)
        counts = Counter(outcomes["outcome"].to_list())
        logger.info(
            "of %d sentences with key phrases, %d moved, %d had theirs in place, %d were kept",
            *(len(outcomes), *(counts[outcome] for outcome in OUTCOMES)),
        )
        accepted = set(outcomes.filter("accepted")["review_id"])
        texts = {(task.name, task.sentence): candidate.text for task, candidate in taken.items()}
        rewritten = [self._review(name, texts) for name in self._sentences if name in accepted]
        return rewritten, {"sentences": outcomes}

    def _outcomes(self, judged: Mapping[Task, Sequence[Candidate]], taken: Mapping[Task, Candidate]) -> pl.DataFrame:
        """What became of each sentence; a review is accepted if enough of those to move moved, or one."""
        rows = []
        for place, task in self._task_at.items():
            outcome, reason, term = "kept", None, task and task.term
            if task is None:
                reason = "unsuited"
            elif task not in judged:
                outcome = "in_place"
            elif task in taken:
                outcome, term = "moved", taken[task].phrase or term
            else:
                reason = max((candidate.reason for candidate in judged[task]), key=REASONS.index)
            rows.append((self.assignment.variant, *place, term, outcome, reason, None))
        moved = (pl.col("outcome") == "moved").sum().over("review_id")
        to_move = (pl.col("outcome") != "in_place").sum().over("review_id")
        return pl.DataFrame(rows, schema=SENTENCE_SCHEMA, orient="row").with_columns(
            accepted=(moved > 0) & (moved >= self.assignment.filters["min_moved"] * to_move)
        )

    def _review(self, name: str, texts: Mapping[Place, str]) -> Rewritten:
        """A review with the sentences that were taken."""
        text, parts, done, placements = self._sentences[name][0].text, [], 0, []
        for number, sentence in enumerate(self._sentences[name]):
            new = texts.get((name, number))
            parts += [text[done : sentence.span[0]], sentence.written if new is None else new]
            done = sentence.span[1]
            for phrase in (phrase for phrase in self._phrases.get(name, ()) if phrase.sentence == number):
                before = place_in_sentence(text, sentence.span, phrase.start, phrase.term)
                place = None if new is None else place_of(phrase.term, new)
                if new is None:
                    placements.append(Placement(phrase.term, number, before, before))
                elif place is not None:
                    placements.append(Placement(phrase.term, number, before, position_of(place[0], sum(place))))
        return name, "".join([*parts, text[done:]]), placements


make_unit = Sentences  # what the module of a unit is asked for


def _task(name: str, sentence: Sentence, phrases: Sequence[Phrase]) -> Task | None:
    """What is to be done with a sentence, by its review's key phrases, best first; None where none can move."""
    if sentence.stays:
        return None
    movable = [
        phrase
        for phrase in phrases
        if phrase.sentence == sentence.number
        and (place := place_of(phrase.term, sentence.written)) is not None
        and sum(place) >= FEWEST_OTHERS
    ]
    if not movable:
        return None
    phrase = min(movable, key=lambda phrase: _is_nested(sentence, phrase))
    frame = frame_in(sentence, phrase)
    return frame and Task(name, sentence, phrase, frame, tuple(movable))


def _is_nested(sentence: Sentence, phrase: Phrase) -> bool:
    """Whether a phrase belongs to another noun ("the town of Obaba", a part of a list): it cannot move by itself."""
    inside = [token for token in sentence.tokens if phrase.start <= token.start < phrase.end]
    tops = [token for token in inside if sentence.tokens[token.head] not in inside]
    above = [sentence.tokens[token.head] for token in tops]
    above = [sentence.tokens[token.head] if token.dep == "prep" else token for token in above]
    return any(token.dep in ("compound", "poss", "conj", "appos") for token in tops) or any(
        token.pos in ("NOUN", "PROPN", "PRON") for token in above
    )
