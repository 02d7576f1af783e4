"""Sentences as the unit of a rewriting: in each, one key phrase moves; the best of all candidates is taken."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

import polars as pl

from homogenization.corpus.sentences import folded, sentence_spans, words
from homogenization.names.variants import SIDES
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.llm_rewriting import Assignment, Candidate, Rewritten, Shard, Unit, first_failed
from homogenization.variants.mirrors import beginnings, lead_of
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence, position_of
from homogenization.variants.refusals import OUTCOMES, REASONS, SENTENCE_CANDIDATE_SCHEMA, SENTENCE_SCHEMA
from homogenization.variants.sentence_grammars import Frame, frame_of, grammars, is_at, is_balanced, place_of
from homogenization.writers.answers import Proposal
from homogenization.writers.prompts import render
from homogenization.writers.requests import Completion, Request, matches

logger = logging.getLogger(__name__)

# review_id and number of a sentence
Place = tuple[str, int]
# other words that a sentence needs, so that its phrase can stand within it
FEWEST_OTHERS = 4
_NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot")
)
_POSSESSIVE = re.compile(r"'s?$")
_PRONOUNS = frozenset(("he", "she", "they", "him", "her", "them", "his", "hers", "their", "theirs"))
# letters of a word of the phrase that another may resemble, and how much (2 * letters in common / letters of both)
_LETTERS, _RESEMBLANCE = 4, 2 / 3


@dataclass(frozen=True)
class Task:
    """A sentence with the key phrase that is to move in it.

    Attributes:
        name: The review_id.
        parsed: The parsed sentence.
        phrase: The key phrase.
        frame: What of the sentence is rewritten.
    """

    name: str
    parsed: Sentence
    phrase: Phrase
    frame: Frame

    @property
    def term(self) -> str:
        """The folded words of the key phrase."""
        return self.phrase.term

    @property
    def sentence(self) -> int:
        """Number of the sentence in the review."""
        return self.parsed.number

    @property
    def text(self) -> str:
        """The sentence as the review has it."""
        return self.parsed.text[slice(*self.parsed.span)]


class Sentences(Unit):
    """The unit; of the filters it reads min_moved too: a review's least share of moved sentences among those to move.

    In each sentence with key phrases, one of them moves: the best-scored that stands there once, leaves `FEWEST_OTHERS`
    other words, and belongs to no other noun, or else any such. This does not depend on the position, so that all
    variants rewrite the same sentences for the sake of the same phrases. All candidates of all sentences are asked for
    at once. Of those that pass the filters, the one with the highest F1 is taken. A sentence without one, and a
    sentence without key phrases, stays as it is to the byte, and so does one whose phrase already stands at the front,
    or at the end, where it is to go. A review is rewritten if enough of its sentences moved.

    The prompt gives values to $sentence and $phrase, and the writer holds its answers to regular expressions.
    """

    schema = SENTENCE_CANDIDATE_SCHEMA
    rounds = 1

    def __init__(self, shard: Shard, assignment: Assignment):
        super().__init__(shard, assignment)
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
    text = sentence.text[slice(*sentence.span)]
    of_sentence = [phrase for phrase in phrases if phrase.sentence == sentence.number]
    for phrase in sorted(of_sentence, key=lambda phrase: _is_nested(sentence, phrase)):
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


def judge_sentence(
    completion: Completion, regex: str, task: Task, position: str | None, limits: Mapping[str, Any]
) -> Candidate:
    """Judge an answer by all filters except similarity.

    Args:
        completion: The answer.
        regex: The regular expression that it was asked to match.
        task: The sentence.
        position: "front", "end", "inward" or None, as in `grammars`.
        limits: length_ratio (least and largest number of words, over the sentence's).
    """
    answer, finish = completion.text.strip(), completion.finish_reason
    if finish == "length":
        return Candidate(answer, "truncated", finish)
    if not words(answer):
        return Candidate(answer, "empty", finish)
    text = task.frame.filled(answer)
    ratio = len(words(text)) / len(words(task.text))
    checks = {
        "malformed": matches(regex, answer) and is_balanced(text) and len(sentence_spans(text)) == 1,
        "identical": words(text) != words(task.text),
        "length": limits["length_ratio"][0] <= ratio <= limits["length_ratio"][1],
        "coverage": place_of(task.term, text) is not None,
        "position": is_at(position, task.term, text, task.frame.lead),
        "restated": not _restates(task, text),
        "names": _names(task, text) >= _names(task, task.text),
        "numbers": _numbers(text) == _numbers(task.text),
        "negations": _negations(text) == _negations(task.text),
    }
    return Candidate(text, first_failed(checks), finish, length_ratio=ratio)


def _restates(task: Task, text: str) -> bool:
    """Whether `text` says the phrase in other words too: one more that resembles one of its own, or a pronoun ahead.

    A writer that has to end with the phrase may say it before, misspelled ("Jack Web ..., Jack Webb"), as two words
    ("tooth brush"), in another form, or as "he".
    """
    spoken, place = words(text), place_of(task.term, text)
    new = Counter(spoken) - Counter(words(task.text))
    pairs = [first + second for first, second in pairwise(spoken) if first in new and second in new]
    resembling = any(
        word[0] == part[0] and SequenceMatcher(None, part, word, autojunk=False).ratio() >= _RESEMBLANCE
        for part in task.term.split()
        if len(part) >= _LETTERS
        for word in (*new, *pairs)
    )
    return resembling or any(word in new and word in _PRONOUNS for word in spoken[: place[0] if place else 0])


def _names(task: Task, text: str) -> set[str]:
    """The words that are names in the sentence and stand in `text`, with or without a possessive."""
    names = {_POSSESSIVE.sub("", folded(name)) for name in task.parsed.proper_names if any(map(str.isalnum, name))}
    return names & {_POSSESSIVE.sub("", word) for word in words(text)}


def _numbers(text: str) -> Counter[str]:
    return Counter(word for word in words(text) if any(map(str.isdigit, word)))


def _negations(text: str) -> int:
    return sum(word in _NEGATIONS or word.endswith("n't") for word in words(text))
