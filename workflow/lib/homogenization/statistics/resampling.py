"""Intervals and tests of means over reviews, and resampling of the reviews, for many cells at once.

A cell has one value for each review: a metric at a layer in a view, or its difference between two variants. `values`
are (n, cells) float64 with a row for each review, NaN where a review has no value in the cell; NaN values are left out.
Interval and p of a cell with fewer than two values are NaN. All cells share one matrix of bootstrap weights or
sign flips, so that a whole study is a few matrix products, and so that the dependence between cells is kept.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from homogenization.tables.over_reviews import student_reach

_NUMBERS_IN_CACHE = 20_000
_NO_VARIANCE = 1e-12  # of values whose mean square is 1: they do not vary
# What differs by less, relative to its size, differs by rounding.
_TIE = 1e-9
# Relative uncertainty of metrics: the same tokens in another order, or as they are in float32, differ by rounding.
_PRECISION = 1e-9
FEWEST_NEGLIGIBLE = 16  # reviews; of fewer, no difference is called negligible


@dataclass(frozen=True)
class Resampling:
    """How estimates of a study are made.

    Attributes:
        draws: number of bootstrap draws, and of sign flips, of the reviews.
        confidence: level of the intervals, between 0 and 1; tests are at the level 1 - confidence.
        seed: seed of the draws, the same for every model.
        margin: share of the yardstick within which a difference is negligible; NaN where none is.
    """

    draws: int
    confidence: float
    seed: int
    margin: float = np.nan

    def weights(self, n: int) -> np.ndarray:
        """`bootstrap_weights` of `n` reviews."""
        return bootstrap_weights(n, self.draws, self.seed)

    def sign_flips(self, n: int) -> np.ndarray:
        """`sign_flips` of `n` reviews."""
        return sign_flips(n, self.draws, self.seed)


def differences(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`first` - `second`, 0 within the precision of the values; NaN where either has none."""
    difference = first - second
    same = np.abs(difference) <= _PRECISION * np.maximum(np.abs(first), np.abs(second))
    return np.where(same, 0.0, difference)


def means(values: np.ndarray) -> np.ndarray:
    """Mean of each cell, (cells,), over those of `values` (n, cells) that are not NaN; NaN without any."""
    counts = _counts(values)
    return np.nansum(values, axis=0) / np.where(counts > 0, counts, np.nan)


def bootstrap_weights(n: int, draws: int, seed: int) -> np.ndarray:
    """Weights of `n` reviews in each bootstrap draw, (draws, n) float64: number of times drawn / n. Rows sum to 1."""
    drawn = np.random.default_rng(seed).integers(n, size=(draws, n))
    drawn += np.arange(draws)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n) / n


def uniform_weights(n: int) -> np.ndarray:
    """(1, n) weights of the sample itself: the draw in which each review comes once."""
    return np.full((1, n), 1 / n)


@lru_cache(maxsize=2)  # comparisons of the same number of reviews share their flips
def sign_flips(n: int, draws: int, seed: int) -> np.ndarray:
    """Signs of `n` reviews in each flip, (rows, n) float64 of 1 and -1; the first row changes nothing.

    The rows are all 2^n flips if these are at most `draws`, which makes the p exact. Otherwise they are `draws` random
    flips, except for the first row. Because that row counts, a p is never 0 and never too small (Phipson & Smyth 2010).
    """
    if n < 63 and 2**n <= draws:
        return 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    flips = np.random.default_rng(seed).integers(0, 2, size=(draws, n), dtype=np.int8) * 2.0 - 1.0
    flips[0] = 1.0
    return flips


def weighted_means(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of each cell under each row of `weights`, (draws, cells); NaN where a draw has none of a cell's values."""
    present = ~np.isnan(values)
    # the draws of a cell lie side by side in memory, for the sorting that follows
    sums = np.where(present, values, 0.0).T @ weights.T
    totals = present.T.astype(np.float64) @ weights.T if not present.all() else weights.sum(axis=1)
    return np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0).T


def percentile_interval(draws: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap interval: low and high, (cells,), of `draws` (draws, cells); NaN draws are left out."""
    low, high = quantiles(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return low, high


def quantiles(values: np.ndarray, shares: float | Sequence[float]) -> np.ndarray:
    """(..., cells) quantiles of each cell over those of `values` (n, cells) that are not NaN; NaN without any."""
    quantile = np.nanquantile if np.isnan(values).any() or not len(values) else np.quantile  # the second is faster
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of a cell without values
        return quantile(values, shares, axis=0)


def resampled(statistic: Callable[[np.ndarray], np.ndarray], weights: np.ndarray, confidence: float) -> np.ndarray:
    """A statistic of the sample, and low and high of its percentile interval, (..., 3); NaN where the sample has none.

    Args:
        statistic: function of weights (rows, n) of the reviews, (..., rows).
        weights: (draws, n) weights from `bootstrap_weights`.
        confidence: level of the interval, between 0 and 1.
    """
    estimate = statistic(uniform_weights(weights.shape[1]))[..., 0]
    interval = percentile_interval(np.moveaxis(statistic(weights), -1, 0), confidence)
    return np.where(np.isnan(estimate)[..., None], np.nan, np.stack([estimate, *interval], axis=-1))


def mean_interval(values: np.ndarray, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Student's interval of the mean of each cell.

    Args:
        values: (n, cells), NaN values left out.
        confidence: level of the interval, between 0 and 1.

    Returns:
        low and high, (cells,); both the mean where all values of a cell are equal, NaN for fewer than two values.
    """
    counts, mean = _counts(values), means(values)
    squares = np.nansum((values - mean) ** 2, axis=0)
    variance = np.where(_varies(values), squares / np.maximum(counts - 1, 1), 0.0)
    reach = student_reach(counts, confidence) * np.sqrt(variance / np.maximum(counts, 1))
    return mean - reach, mean + reach


def flip_p(values: np.ndarray, flips: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided p of the null that a cell's mean is 0, and the same corrected for all given cells: (cells,) each.

    The first is the share of the flips whose |t| after Hall's transformation reaches that of the values. It is exact
    where differences are symmetric about 0 under the null: swapping the two variants of a review changes nothing. Where
    they are skewed, the transformation takes the skewness of the mean out of t (Hall 1992). The second is the step-down
    max-T of Westfall & Young (1993): of the largest |t| over the cells that are no more significant, and never below
    the p of a more significant cell. Reviews are flipped in all cells at once, so the correction costs little where
    neighbouring layers agree.

    Args:
        values: (n, cells), NaN values left out; p is NaN in cells with fewer than two values.
        flips: (rows, n) signs from `sign_flips`, the first of which change nothing.
    """
    p = np.full((2, values.shape[1]), np.nan)
    counted = np.flatnonzero(_counts(values) > 1)
    p[:, counted] = step_down_p(_flipped_t(values[:, counted], flips))
    return p[0], p[1]


def step_down_p(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P of each cell, and the same corrected for all cells by step-down max-T (Westfall & Young 1993): (cells,) each.

    Args:
        size: (rows, cells) how far a statistic is from the null, in one unit for all cells: first of the sample, then
            of what is as likely under the null.
    """
    order = np.argsort(size[0])
    size = size[:, order]
    least = size[0] - _TIE * (1 + size[0])
    p = np.empty((2, len(order)))
    p[0, order] = (size >= least).mean(axis=0)
    reached = (np.maximum.accumulate(size, axis=1, out=size) >= least).mean(axis=0)
    p[1, order] = np.maximum.accumulate(reached[::-1])[::-1]
    return p[0], p[1]


def _flipped_t(values: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """|t| of each cell, each with two values or more, in each flip: (rows, cells).

    Hall's transformation: t + g t^2 / (3 sqrt(n)) + g^2 t^3 / (27 n) + g / (6 sqrt(n)), g the skewness.
    """
    counts, present = _counts(values), np.nan_to_num(values)
    scale = np.sqrt((present**2).sum(axis=0) / counts)
    scaled = np.divide(present, scale, out=np.zeros_like(present), where=scale > 0)  # their mean square is 1
    found = np.empty((len(flips), values.shape[1]))
    for rows in chunks(len(flips), values.shape[1], _NUMBERS_IN_CACHE):
        mean, cube = flips[rows] @ scaled / counts, flips[rows] @ scaled**3 / counts
        variance = np.maximum(1 - mean**2, _NO_VARIANCE)
        third = np.where(variance > _NO_VARIANCE, cube - 3 * mean + 2 * mean**3, 0.0)
        bend = third / variance**1.5 / (3 * np.sqrt(counts))
        t = mean * np.sqrt((counts - 1) / variance)
        np.abs(t + bend * t**2 + bend**2 * t**3 / 3 + bend / 2, out=found[rows])
    return found


def largest_share(values: np.ndarray) -> np.ndarray:
    """Share of the variance of each cell that one review carries, (cells,); 0 where values do not vary."""
    squares = np.nan_to_num((values - means(values)) ** 2)
    total = squares.sum(axis=0)
    return np.where(_varies(values), squares.max(axis=0, initial=0) / np.where(total > 0, total, 1), 0.0)


def chunks(n: int, width: int, numbers: int) -> Iterator[slice]:
    """Parts of `n` rows of `width` numbers that hold some `numbers` each."""
    size = max(1, numbers // max(width, 1))
    return (slice(start, start + size) for start in range(0, n, size))


def _counts(values: np.ndarray) -> np.ndarray:
    return (~np.isnan(values)).sum(axis=0)


def _varies(values: np.ndarray) -> np.ndarray:
    """Whether a cell has two different values."""
    present = ~np.isnan(values)
    largest = values.max(axis=0, where=present, initial=-np.inf)
    return largest > values.min(axis=0, where=present, initial=np.inf)
