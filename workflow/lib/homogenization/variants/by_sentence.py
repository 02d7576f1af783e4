"""Sentences as the unit of a rewriting: in each, one key phrase moves; the best of all candidates is taken."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.names.variants import SIDES
from homogenization.variants.candidates import Candidate
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.fluency import load_reader
from homogenization.variants.llm_rewriting import Assignment, Rewritten, Shard, Unit
from homogenization.variants.mirrors import beginnings, lead_of
from homogenization.variants.phrases import Phrase, Placement, place_in_sentence, position_of
from homogenization.variants.refusals import OUTCOMES, REASONS, SENTENCE_CANDIDATE_SCHEMA, SENTENCE_SCHEMA
from homogenization.variants.sentence_candidates import Task, judge_sentence
from homogenization.variants.sentence_grammars import frame_of, grammars, is_at, place_of
from homogenization.writers.answers import Proposal
from homogenization.writers.prompts import render
from homogenization.writers.requests import Request

logger = logging.getLogger(__name__)

# review_id and number of a sentence
Place = tuple[str, int]
# other words that a sentence needs, so that its phrase can stand within it
FEWEST_OTHERS = 4
# what a nat per word weighs against BERTScore F1 in the choice: see docs/variants.md
LOSS_WEIGHT = 0.1


class Sentences(Unit):
    """The unit; of the filters it reads min_moved too: a review's least share of moved sentences among those to move.

    In each sentence with key phrases, one of them moves: the best-scored that stands there once, leaves `FEWEST_OTHERS`
    other words, and belongs to no other noun, or else any such. This does not depend on the position, so that all
    variants rewrite the same sentences for the sake of the same phrases. All candidates of all sentences are asked for
    at once. Of those that pass the filters, the one with the highest score is taken. A sentence without one, and a
    sentence without key phrases, stays as it is to the byte, and so does one whose phrase already stands at the front,
    or at the end, where it is to go. A review is rewritten if enough of its sentences moved.

    The prompt gives values to $sentence and $phrase, and the writer holds its answers to regular expressions.
    """

    schema = SENTENCE_CANDIDATE_SCHEMA
    rounds = 1

    def __init__(self, shard: Shard, assignment: Assignment):
        super().__init__(shard, assignment)
        self._sentences = parsed_sentences(shard.reviews, shard.parse)
        self._phrases = _phrases_by_sentence(shard.keyphrases)
        # of each sentence with key phrases; None where none can move
        self._task_at: dict[Place, Task | None] = {
            (name, number): _task(name, self._sentences[name][number], of_sentence)
            for (name, number), of_sentence in self._phrases.items()
        }
        movable = [task for task in self._task_at.values() if task]
        side = assignment.position if assignment.position in SIDES else None
        self.tasks = [
            task for task in movable if side is None or not is_at(side, task.term, task.text, task.frame.lead)
        ]

    def requests(self, task: Task, number: int) -> Iterator[Request]:
        """The requests for all candidates: each grammar in turn, then each once more with another seed."""
        author, most = self.assignment.author, self.assignment.filters["candidates"]
        regexes = grammars(task.frame, self.assignment.position, beginnings(task.parsed, task.phrase))
        messages = render(author.prompt, sentence=task.frame.core + task.frame.stop, phrase=task.frame.phrase)
        for sample in range(min(most, len(regexes)) if author.is_greedy else most):
            yield Request(task.name, messages, None, sample // len(regexes), regexes[sample % len(regexes)])

    def judged(self, proposal: Proposal) -> Candidate:
        """As in `Unit`."""
        regex, given = proposal.request.regex, self.assignment
        return judge_sentence(proposal.completion, regex, proposal.task, given.position, given.filters)

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The one with the highest F1, minus the weighted loss per word where it is known; the first of equals."""
        return max(candidates, key=lambda one: one.f1 - LOSS_WEIGHT * (one.loss_per_word or 0.0))

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
            outcome, reason = "kept", None
            if task is None:
                reason = "unsuited"
            elif task not in judged:
                outcome = "in_place"
            elif task in taken:
                outcome = "moved"
            else:
                reason = max((candidate.reason for candidate in judged[task]), key=REASONS.index)
            rows.append((self.assignment.variant, *place, task and task.term, outcome, reason, None))
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
            parts += [text[done : sentence.span[0]], text[slice(*sentence.span)] if new is None else new]
            done = sentence.span[1]
            for _, phrase in self._phrases.get((name, number), ()):
                before = place_in_sentence(text, sentence.span, phrase.start, phrase.term)
                place = None if new is None else place_of(phrase.term, new)
                if new is None:
                    placements.append(Placement(phrase.term, number, before, before))
                elif place is not None:
                    placements.append(Placement(phrase.term, number, before, position_of(place[0], sum(place))))
        return name, "".join([*parts, text[done:]]), placements


def make_unit(shard: Shard, assignment: Assignment, reader: Mapping[str, Any] | None, gpus: int) -> Sentences:
    """The unit.

    Args:
        shard: The reviews.
        assignment: The variant.
        reader: Entry of the model that measures losses, for `load_reader`; None: candidates are ranked by F1 alone.
        gpus: Number of the job's GPUs.
    """
    unit = Sentences(shard, assignment)
    unit.loss_per_word = load_reader(reader, gpus).loss_per_word if reader else None
    return unit


def _phrases_by_sentence(keyphrases: pl.DataFrame) -> dict[Place, list[tuple[float, Phrase]]]:
    """The key phrases of each sentence that has any, in reading order, with their scores."""
    phrases: dict[Place, list[tuple[float, Phrase]]] = {}
    columns = ("review_id", "score", "phrase", "sentence", "start", "end")
    for name, score, *place in keyphrases.select(columns).iter_rows():
        phrase = Phrase(*place)
        phrases.setdefault((name, phrase.sentence), []).append((score, phrase))
    return phrases


def _task(name: str, sentence: Sentence, phrases: Sequence[tuple[float, Phrase]]) -> Task | None:
    """What is to be done with a sentence; None where no key phrase can move."""
    if sentence.stays:
        return None
    text = sentence.text[slice(*sentence.span)]
    for _, phrase in sorted(phrases, key=lambda scored: (_is_nested(sentence, scored[1]), -scored[0])):
        place = place_of(phrase.term, text)
        if place is None or sum(place) < FEWEST_OTHERS:
            continue
        written = " ".join(sentence.text[phrase.start : phrase.end].split())
        frame = frame_of(text, written, lead_of(sentence, phrase))
        return frame and Task(name, sentence, phrase, frame)
    return None


def _is_nested(sentence: Sentence, phrase: Phrase) -> bool:
    """Whether a phrase belongs to another noun ("the town of Obaba", a part of a list): it cannot move by itself."""
    inside = [token for token in sentence.tokens if phrase.start <= token.start < phrase.end]
    tops = [token for token in inside if sentence.tokens[token.head] not in inside]
    above = [sentence.tokens[token.head] for token in tops]
    above = [sentence.tokens[token.head] if token.dep == "prep" else token for token in above]
    return any(token.dep in ("compound", "poss", "conj", "appos") for token in tops) or any(
        token.pos in ("NOUN", "PROPN", "PRON") for token in above
    )
