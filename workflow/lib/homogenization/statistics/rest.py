"""The rest of a variant: what it does to a metric beyond what disorder does at the same loss of the language model.

The ladder of disorder are the variants whose words change places in blocks. Each review is compared with the ladder's
curve, the mean change of the metric against the mean change of the loss, of the other half of the reviews.
"""

from collections.abc import Sequence

import numpy as np

from homogenization.corpus.hashing import seeded_hash
from homogenization.statistics.estimate import means

FEWEST_STEPS = 2  # of a ladder

Changes = tuple[
    np.ndarray, np.ndarray
]  # (reviews, cells) of the metric, (reviews,) of the loss; NaN where one lacks it


def halves(review_ids: Sequence[str], seed: int) -> np.ndarray:
    """(reviews,) 0 or 1: two halves of the reviews, which differ by one at most."""
    order = sorted(range(len(review_ids)), key=lambda place: seeded_hash(seed, review_ids[place]))
    half = np.empty(len(review_ids), dtype=np.int64)
    half[order] = np.arange(len(review_ids)) % 2
    return half


def rest(variant: Changes, ladder: Sequence[Changes], half: np.ndarray) -> np.ndarray:
    """What each review adds to the mean rest: (reviews, cells), whose mean is that of the residuals.

    A residual is a review's change minus the curve at its own change of loss: interpolated linearly, below the first
    knot on the first segment's line; NaN beyond the last knot, or without two steps in the other half. A review also
    moves the knots of the curve that the other half is compared with: how far that moves their mean is added to its
    residual (the influence function), since an interval of the residuals alone would take the curve for known.

    Args:
        variant: changes from the original.
        ladder: those of each of its variants, over the same reviews.
        half: (reviews,) of `halves`.
    """
    changes, losses = variant
    residuals, moved = np.full_like(changes, np.nan), np.zeros_like(changes)
    for own in (0, 1):
        mine, others = half == own, half != own
        steps = [(of[others], loss[others]) for of, loss in ladder if np.isfinite(loss[others]).any()]
        if len(steps) < FEWEST_STEPS:
            continue
        nothing = np.zeros((others.sum(), changes.shape[1])), np.zeros(others.sum())
        steps = sorted([nothing, *steps], key=lambda step: np.nanmean(step[1]))
        knots, curve = np.array([np.nanmean(loss) for _, loss in steps]), np.array([means(of) for of, _ in steps])
        segment, share = _places(losses[mine], knots)
        slopes = np.diff(curve, axis=0) / np.diff(knots)[:, None]
        residuals[mine] = changes[mine] - curve[segment] - share[:, None] * np.diff(curve, axis=0)[segment]
        for place, slope in enumerate(slopes):
            there = share[(segment == place) & ~np.isnan(share)]
            for knot, weight in ((place, (1 - there).sum()), (place + 1, there.sum())):
                of, loss = steps[knot]
                moves = of - curve[knot] - slope * (loss - knots[knot])[:, None]
                moved[others] += np.nan_to_num(moves) * weight / np.maximum((~np.isnan(moves)).sum(axis=0), 1)
    values = residuals - moved
    return values - means(values) + means(residuals)


def _places(losses: np.ndarray, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(reviews,) the segment between ascending `knots` in which each loss lies, and where in it; NaN beyond all."""
    segment = np.clip(np.searchsorted(knots, losses) - 1, 0, len(knots) - 2)
    share = (losses - knots[segment]) / (knots[segment + 1] - knots[segment])
    return segment, np.where(losses > knots[-1], np.nan, share)
