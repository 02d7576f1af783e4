"""Whether a few reviews carry a mean: a robust estimate, and the mean without the largest and smallest values.

`values` are (n, cells) float64 as in `resampling`: a row for each review, NaN where a review has no value in the cell.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtri, stdtrit

INFLUENTIAL = 0.05  # share of the reviews that are left out: at each end of those of a mean
_EXACT = 60  # most values for which the distribution of the signed-rank statistic is counted out

Estimates = tuple[np.ndarray, np.ndarray, np.ndarray]  # estimate, low and high of each cell


def hodges_lehmann(values: np.ndarray, confidence: float) -> Estimates:
    """Median of the averages of all pairs of values, with its interval (Hodges & Lehmann 1963).

    The interval holds the centres of symmetry that Wilcoxon's signed-rank test does not reject; its ends are two of the
    n (n + 1) / 2 averages, of pairs of a value with itself or with another.

    Args:
        values: (n, cells), NaN values left out.
        confidence: level of the interval, between 0 and 1.

    Returns:
        estimate, low and high, (cells,); low and high are NaN where no interval has the level, below six values at .95.
    """
    found = np.full((3, values.shape[1]), np.nan)
    for cell, column in enumerate(values.T):
        present = column[~np.isnan(column)]
        if not len(present):
            continue
        first, second = _pairs(len(present))
        averages = (present[first] + present[second]) / 2
        last = len(averages) - 1
        outside = _rejected(len(present), 1 - confidence)
        places = [last // 2, (last + 1) // 2, max(outside, 0), min(last - outside, last)]
        averages.partition(sorted(set(places)))
        found[0, cell] = averages[places[:2]].mean()
        if outside >= 0:
            found[1:, cell] = averages[places[2:]]
    return found[0], found[1], found[2]


@lru_cache(maxsize=2)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n)


@lru_cache(maxsize=64)
def _rejected(n: int, alpha: float) -> int:
    """The largest t with P(T <= t) <= alpha / 2, T the signed-rank statistic of n values; -1 without any."""
    if n > _EXACT:
        return int(np.floor(n * (n + 1) / 4 + ndtri(alpha / 2) * np.sqrt(n * (n + 1) * (2 * n + 1) / 24) - 0.5))
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1
    for rank in range(1, n + 1):
        chances[rank:] += chances[:-rank].copy()
    return int(np.searchsorted(np.cumsum(chances) / 2.0**n, alpha / 2, "right")) - 1


def trimmed_mean(values: np.ndarray, confidence: float) -> Estimates:
    """Mean of each cell without its smallest and its largest 5 %, with the interval of Yuen's test (1974).

    The interval is Student's, with the variance of the winsorised values, in which those that are
    left out are moved to the next that stay. It estimates the trimmed mean of what the values are drawn from.

    Args:
        values: (n, cells), NaN values left out; `INFLUENTIAL` of them, rounded up, at each end.
        confidence: level of the interval, between 0 and 1.

    Returns:
        estimate, low and high, (cells,); NaN where no value stays, low and high also where only one does.
    """
    ordered = np.sort(values, axis=0)  # NaN last
    counts = (~np.isnan(values)).sum(axis=0)
    cut = np.ceil(INFLUENTIAL * counts).astype(np.int64)
    kept = counts - 2 * cut
    ends = [np.take_along_axis(ordered, np.clip(at, 0, len(values) - 1)[None], 0) for at in (cut, counts - 1 - cut)]
    moved = np.where(np.isnan(ordered) | (kept < 1), np.nan, np.clip(ordered, *ends))
    place = np.arange(len(values))[:, None]
    stay = (place >= cut) & (place < counts - cut)
    estimate = np.where(stay, ordered, 0.0).sum(axis=0) / np.where(kept > 0, kept, np.nan)
    centre = np.nansum(moved, axis=0) / counts.clip(1)
    squares = np.nansum((moved - centre) ** 2, axis=0)
    degrees = np.where(kept > 1, kept - 1, np.nan)
    reach = stdtrit(degrees, (1 + confidence) / 2) * np.sqrt(squares / degrees / kept.clip(1))
    return estimate, estimate - reach, estimate + reach
