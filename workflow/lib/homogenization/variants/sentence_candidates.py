"""Judging of candidates of one sentence, and the choice among those that pass."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from homogenization.corpus.sentences import folded, sentence_spans, words
from homogenization.variants.constituents import Sentence
from homogenization.variants.phrases import Phrase
from homogenization.variants.sentence_grammars import Frame, is_at, is_balanced, place_of
from homogenization.variants.sentence_schemas import SENTENCE_REASONS
from homogenization.writers.requests import Completion, matches

# what a nat per word weighs against BERTScore F1 in the choice: see docs/variants.md
LOSS_WEIGHT = 0.1
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
        sentence: The parsed sentence.
        phrase: The key phrase.
        frame: What of the sentence is rewritten.
    """

    sentence: Sentence
    phrase: Phrase
    frame: Frame

    @property
    def term(self) -> str:
        """The folded words of the key phrase."""
        return self.phrase.term

    @property
    def text(self) -> str:
        """The sentence as the review has it."""
        return self.sentence.text[slice(*self.sentence.span)]


@dataclass(frozen=True)
class SentenceCandidate:
    """A text offered for a sentence, its measurements, and the first of `SENTENCE_REASONS` that applies, or None."""

    text: str | None
    reason: str | None
    finish_reason: str
    length_ratio: float | None = None
    f1: float | None = None
    loss_per_word: float | None = None

    @property
    def score(self) -> float:
        """What the choice goes by: F1, minus the loss per word where it is known."""
        return self.f1 - LOSS_WEIGHT * (self.loss_per_word or 0.0)


def judge_sentence(
    completion: Completion, regex: str, task: Task, position: str | None, limits: Mapping[str, Any]
) -> SentenceCandidate:
    """Judge an answer by all filters except similarity, which `with_scores` adds.

    Args:
        completion: The answer.
        regex: The regular expression that it was asked to match.
        task: The sentence.
        position: "front", "end", "inward" or None, as in `grammars`.
        limits: length_ratio (least and largest number of words, over the sentence's).
    """
    answer, finish = completion.text.strip(), completion.finish_reason
    if finish == "length":
        return SentenceCandidate(answer, "truncated", finish)
    if not words(answer):
        return SentenceCandidate(answer, "empty", finish)
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
    reason = next((name for name in SENTENCE_REASONS if not checks.get(name, True)), None)
    return SentenceCandidate(text, reason, finish, ratio)


def with_scores(
    candidate: SentenceCandidate, f1: float, loss_per_word: float | None, min_f1: float | None
) -> SentenceCandidate:
    """Add F1 against the sentence and the loss to a candidate that passed the other filters, and judge it by F1."""
    reason = "similarity" if min_f1 is not None and f1 < min_f1 else None
    return replace(candidate, f1=f1, loss_per_word=loss_per_word, reason=reason)


def best(candidates: Sequence[SentenceCandidate]) -> SentenceCandidate | None:
    """The candidate with the highest score of those that passed, the first of equals; None if none passed."""
    passed = [candidate for candidate in candidates if candidate.reason is None]
    return max(passed, key=lambda candidate: candidate.score, default=None)


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
    names = {_POSSESSIVE.sub("", folded(name)) for name in task.sentence.proper_names if any(map(str.isalnum, name))}
    return names & {_POSSESSIVE.sub("", word) for word in words(text)}


def _numbers(text: str) -> Counter[str]:
    return Counter(word for word in words(text) if any(map(str.isdigit, word)))


def _negations(text: str) -> int:
    return sum(word in _NEGATIONS or word.endswith("n't") for word in words(text))
