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
    counts = (~np.isnan(of)).sum(axis=1)
    mean_of, mean_at = (np.stack([means(point) for point in each]) for each in (of, at))
    own, cells = len(points) - 1, np.arange(of.shape[2])
    knots = np.sort(mean_at[:own], axis=0)  # NaN last
    n_knots = np.isfinite(knots).sum(axis=0)
    segment = np.clip((knots < mean_at[own]).sum(axis=0) - 1, 0, np.maximum(n_knots - 2, 0))
    below, above = (np.argsort(mean_at[:own], axis=0)[segment + side, cells] for side in (0, 1))
    width = mean_at[above, cells] - mean_at[below, cells]
    slope = (mean_of[above, cells] - mean_of[below, cells]) / width
    share = (mean_at[own] - mean_at[below, cells]) / width

    def moves(point: np.ndarray) -> np.ndarray:
        """(reviews, cells): how far each review moves the mean of a point across the line through the two knots."""
        of_point = (of[point, :, cells] - mean_of[point, cells, None]).T
        at_point = (at[point, :, cells] - mean_at[point, cells, None]).T
        return np.nan_to_num(of_point - slope * at_point) * counts[own] / np.maximum(counts[point, cells], 1)

    distance = mean_of[own] - mean_of[below, cells] - slope * (mean_at[own] - mean_at[below, cells])
    values = distance + moves(np.full_like(below, own)) - (1 - share) * moves(below) - share * moves(above)
    known = (n_knots > FEWEST_STEPS) & (mean_at[own] <= knots[np.maximum(n_knots - 1, 0), cells])
    return np.where(known & ~np.isnan(of[own]), values, np.nan)
