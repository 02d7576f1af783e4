"""Candidates: texts that a language model offers for a review or a sentence, which pass or are refused for a reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from homogenization.variants.phrases import Placement

# (candidates, their originals) -> BERTScore of each, (candidates, 3): precision, recall, F1
Score = Callable[[list[str], list[str]], np.ndarray]
# text -> its loss per word in nats, without other text before it
LossPerWord = Callable[[str], float]


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
        loss_per_word: Loss of the text in nats; None if it was not computed.
        placements: Placements of the phrases found in a review.
    """

    text: str | None
    reason: str | None
    finish_reason: str
    coverage: float | None = None
    distance: float | None = None
    length_ratio: float | None = None
    scores: tuple[float, float, float] | None = None
    loss_per_word: float | None = None
    placements: tuple[Placement, ...] = ()

    @property
    def f1(self) -> float | None:
        """BERTScore F1 against the original; None if it was not computed."""
        return None if self.scores is None else self.scores[2]


def first_failed(checks: Mapping[str, bool]) -> str | None:
    """The reason for a refusal: the first check that failed; None if all hold."""
    return next((name for name, holds in checks.items() if not holds), None)


def with_scores(
    candidate: Candidate, scores: Sequence[float] | None, loss_per_word: float | None, min_f1: float | None
) -> Candidate:
    """Add precision, recall and F1, and the loss, to a candidate that passed the other filters; judge it by F1."""
    triple = None if scores is None else tuple(map(float, scores))
    measured = replace(candidate, scores=triple, loss_per_word=loss_per_word)
    is_unlike = min_f1 is not None and measured.f1 is not None and not measured.f1 >= min_f1
    return replace(measured, reason="similarity" if is_unlike else None)


def scored(
    candidates: Sequence[Candidate],
    originals: Sequence[str],
    score: Score | None,
    loss_per_word: LossPerWord | None,
    min_f1: float | None,
) -> list[Candidate]:
    """The candidates; those that passed all other filters are measured against their originals, and judged by F1.

    Args:
        candidates: Candidates without scores.
        originals: What each is offered for.
        score: Scorer of similarity; None: it is not measured.
        loss_per_word: Loss of a text; None: it is not measured.
        min_f1: Least F1; None: every candidate passes.
    """
    passed = [number for number, candidate in enumerate(candidates) if candidate.reason is None]
    texts = [candidates[number].text for number in passed]
    scores = score(texts, [originals[number] for number in passed]) if score else [None] * len(passed)
    losses = {text: loss_per_word(text) for text in texts} if loss_per_word else {}
    found = list(candidates)
    for number, text, row in zip(passed, texts, scores, strict=True):
        found[number] = with_scores(candidates[number], row, losses.get(text), min_f1)
    return found
