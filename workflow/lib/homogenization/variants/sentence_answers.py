"""Answers about a sentence: the task, how an answer is read, and the filters that it has to pass."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Literal, Self

from homogenization.corpus.sentences import folded, sentence_spans, words
from homogenization.names.variants import CONSTRUCTIONS
from homogenization.variants.constituents import Sentence
from homogenization.variants.gate import moved_adjunct
from homogenization.variants.llm_rewriting import Candidate, first_failed
from homogenization.variants.mirrors import lead_of
from homogenization.variants.phrases import Phrase, term_of
from homogenization.variants.sentence_grammars import STOPS, Frame, frame_of, is_at, is_balanced, place_of
from homogenization.writers.requests import Answer, Completion, matches

_NEGATIONS = frozenset(
    ("no", "not", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "without", "cannot")
)
_POSSESSIVE = re.compile(r"'s?$")
_PRONOUNS = frozenset(("he", "she", "they", "him", "her", "them", "his", "hers", "their", "theirs"))
# letters of a word of the phrase that another may resemble, and how much (2 * letters in common / letters of both)
_LETTERS, _RESEMBLANCE = 4, 2 / 3


class _Construction(Answer):
    way: Literal[(*CONSTRUCTIONS, "none")]
    phrase: str = ""
    rewritten: str = ""


CONSTRUCTION_SCHEMA = _Construction.model_json_schema()


@dataclass(frozen=True)
class Task:
    """A sentence with the key phrase that is to move in it.

    Attributes:
        name: The review_id.
        parsed: The parsed sentence.
        phrase: The key phrase.
        frame: What of the sentence is rewritten.
        phrases: All key phrases that could move, the best-scored first.
    """

    name: str
    parsed: Sentence
    phrase: Phrase
    frame: Frame
    phrases: tuple[Phrase, ...] = ()

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
        return self.parsed.written

    def with_phrase(self, term: str) -> Self | None:
        """The task with another of its phrases; None where it has no such."""
        phrase = next((phrase for phrase in self.phrases if phrase.term == term), None)
        return phrase and replace(self, phrase=phrase, frame=frame_in(self.parsed, phrase))


def frame_in(sentence: Sentence, phrase: Phrase) -> Frame | None:
    """The frame of a sentence with one of its phrases."""
    written = " ".join(sentence.text[phrase.start : phrase.end].split())
    return frame_of(sentence.written, written, lead_of(sentence, phrase))


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
    placed = is_at(position, task.term, text, task.frame.lead)
    reason = _reason(task, text, placed, limits) if matches(regex, answer) else "malformed"
    return Candidate(text, reason, finish, length_ratio=_ratio(task, text))


def judge_construction(
    completion: Completion, task: Task, position: str | None, limits: Mapping[str, Any]
) -> Candidate:
    """Judge an answer of `CONSTRUCTION_SCHEMA`, as `judge_sentence` does.

    The phrase is the one that the answer names. It is in its place too where it moved with its adjunct, and that is.
    """
    finish, answer = completion.finish_reason, _Construction.read(completion)
    if finish == "length" or answer is None:
        return Candidate(None, "truncated" if finish == "length" else "malformed", finish)
    if answer.way == "none":
        return Candidate(None, "declined", finish)
    if not words(answer.rewritten):
        return Candidate(answer.rewritten, "empty", finish, construction=answer.way)
    named = task.with_phrase(term_of(answer.phrase))
    text = task.frame.filled(answer.rewritten.strip().rstrip(STOPS) + task.frame.stop)
    if named is None:
        return Candidate(text, "coverage", finish, construction=answer.way)
    moved = moved_adjunct(task.parsed, text)
    is_there = is_at(position, named.term, text, named.frame.lead) or (moved and moved.puts(named.term, position))
    measured = {"length_ratio": _ratio(task, text), "construction": answer.way, "phrase": named.term}
    return Candidate(text, _reason(named, text, bool(is_there), limits), finish, **measured)


def _ratio(task: Task, text: str) -> float:
    return len(words(text)) / len(words(task.text))


def _reason(task: Task, text: str, is_there: bool, limits: Mapping[str, Any]) -> str | None:
    """The first check of a text that fails; `is_there`: whether its phrase has the place."""
    checks = {
        "malformed": is_balanced(text) and len(sentence_spans(text)) == 1,
        "identical": words(text) != words(task.text),
        "length": limits["length_ratio"][0] <= _ratio(task, text) <= limits["length_ratio"][1],
        "coverage": place_of(task.term, text) is not None,
        "position": is_there,
        "restated": not _restates(task, text),
        "names": _names(task, text) >= _names(task, task.text),
        "numbers": _numbers(text) == _numbers(task.text),
        "negations": _negations(text) == _negations(task.text),
    }
    return first_failed(checks)


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
