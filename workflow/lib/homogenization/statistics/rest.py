"""The rest of a variant: what it does to a metric beyond what disorder does at the same loss of the language model.

The ladder of disorder are the variants whose words change places in blocks. Its curve goes through (0, 0) and the mean
change of loss and metric of each of them, over the reviews of the variant that is compared; it is straight in between.
"""

from collections.abc import Sequence

import numpy as np

from homogenization.statistics.estimate import means

FEWEST_STEPS = 2  # of a ladder

# (reviews, cells) of the metric, (reviews,) of the loss; NaN where one lacks it
Changes = tuple[np.ndarray, np.ndarray]


def rest(variant: Changes, ladder: Sequence[Changes]) -> np.ndarray:
    """What each review adds to the rest: (reviews, cells), NaN in a review without the variant.

    Their mean is the rest: the variant's mean change of the metric, minus the curve at its mean change of the loss.
    Below the first knot, the curve is its first segment's line; NaN beyond the last knot, and without two steps. A
    value is the rest plus the review's influence on the variant's means and on the two knots beside them (the delta
    method), so an interval of the values covers the error of the curve too.

    Args:
        variant: changes from the original.
        ladder: those of each of its variants, over the same reviews.
    """
    nothing = np.zeros_like(variant[0]), np.zeros_like(variant[1])
    points = [*ladder, nothing, variant]
    of, at = (np.stack(parts) for parts in zip(*((y, loss[:, None] + 0 * y) for y, loss in points), strict=True))
    of, at = (np.where(np.isnan(of + at) | np.isnan(of[-1] + at[-1]), np.nan, each) for each in (of, at))
    mean_at = np.stack([means(point) for point in at])
    own, cells = len(points) - 1, np.arange(of.shape[2])
    knots = np.sort(mean_at[:own], axis=0)  # NaN last
    n_knots = np.isfinite(knots).sum(axis=0)
    segment = np.clip((knots < mean_at[own]).sum(axis=0) - 1, 0, np.maximum(n_knots - 2, 0))
    sides = (np.argsort(mean_at[:own], axis=0)[segment + side, cells] for side in (0, 1))
    below, above = ((of[side, :, cells].T, at[side, :, cells].T) for side in sides)
    known = (n_knots > FEWEST_STEPS) & (mean_at[own] <= knots[np.maximum(n_knots - 1, 0), cells])
    return np.where(known, from_line((of[own], at[own]), below, above), np.nan)


def from_line(own: Changes, below: Changes, above: Changes) -> np.ndarray:
    """What each unit adds to how far the mean of `own` lies off the line through the means of two points.

    Each has changes (units, cells), and places of as many cells or of one; NaN where a unit lacks it. The value of a
    unit is the distance plus its influence on the three means (the delta method); NaN where it lacks `own`.
    """
    (own_of, own_at), (below_of, below_at), (above_of, above_at) = (map(means, each) for each in (own, below, above))
    slope, share = (above_of - below_of) / (above_at - below_at), (own_at - below_at) / (above_at - below_at)
    n_units = (~np.isnan(own[0])).sum(axis=0)

    def moves(of: np.ndarray, at: np.ndarray) -> np.ndarray:
        """(units, cells): how far each unit moves the mean of a point across the line."""
        there = ~np.isnan(of)
        moved = np.where(there, of - means(of) - slope * (at - means(at)), 0)
        return moved * n_units / np.maximum(there.sum(axis=0), 1)

    distance = own_of - below_of - slope * (own_at - below_at)
    values = distance + moves(*own) - (1 - share) * moves(*below) - share * moves(*above)
    return np.where(np.isnan(own[0]), np.nan, values)
