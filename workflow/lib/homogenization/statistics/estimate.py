"""The one estimator: values of units (reviews, seeds) -> mean, interval, tests and verdict of each cell.

A cell has one value for each unit: a metric at a layer in a view, its difference between two variants, its slope.
`values` are (units, cells) float64, NaN where a unit has no value in the cell; NaN values are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import likeness
from homogenization.names.verdicts import (
    HIGHER,
    LESS_ALIKE,
    LOWER,
    MORE_ALIKE,
    NEGLIGIBLE,
    NOT_TESTED,
    UNDECIDED,
)
from homogenization.tables.over_reviews import student_reach

#: What every table of estimates says of a mean, in its last columns.
ESTIMATE_SCHEMA = {
    "n_reviews": pl.Int64,  #: reviews with a value
    "mean": pl.Float64,  #: over these; NaN without any
    #: ends of Student's interval; NaN for fewer than two reviews
    **dict.fromkeys(("ci_low", "ci_high"), pl.Float64),
    "median": pl.Float64,  #: over the same reviews
    "p_wilcoxon": pl.Float64,  #: two-sided Wilcoxon signed-rank test; NaN where no value differs from 0
    #: two-sided sign-flip test of mean 0, corrected within its family of rows ([statistics](statistics.md#an-estimate))
    "p_max_t": pl.Float64,
    #: what a difference is measured by: how far depth moves the metric in the originals of the model without the first
    #: token or, where that is more, how far reviews lie apart; one number for all views
    "yardstick": pl.Float64,
    #: `negligible`: the 99 % interval lies within `contrasts.margin` × `yardstick` of 0 (of 16 reviews or more); else
    #: `more alike` or `less alike`, or `higher` or `lower` of a metric that does not say how alike tokens are:
    #: `p_max_t` is below .05; else `undecided`, also where one review decides; `not tested`
    "verdict": pl.String,
    "reason": pl.String,  #: why it is not tested, or `one review decides`; else null
}
ONE_DECIDES = "one review decides"  # carries more than half of the variance
FEWEST = 16  # units with which a difference can be negligible, and of which one is said to decide
_MOST = 0.5  # of the variance
_WITHIN = 0.99  # level of the interval that lies within the margin where a difference is negligible
_PRECISION = 1e-9  # what differs by less, relative to its size, differs by rounding
_NO_VARIANCE = np.float32(1e-6)  # of values whose mean square is 1
_TIE = 1e-5  # statistics that differ by less differ by the rounding of float32
_NUMBERS_IN_CACHE = 20_000


@dataclass(frozen=True)
class Settings:
    """How a study estimates.

    Attributes:
        confidence: level of the intervals, between 0 and 1; tests are at the level 1 - confidence.
        seed: seed of the draws, the same for every model.
        draws: number of sign flips, or of bootstrap draws.
        margin: share of the yardstick within which a difference is negligible; NaN where none is.
        min_reviews: fewest units with which a cell is tested.
    """

    confidence: float = 0.95
    seed: int = 0
    draws: int = 10_000
    margin: float = np.nan
    min_reviews: int = 0


def estimate(
    cells: pl.DataFrame, values: np.ndarray, settings: Settings, family: Sequence[str] = (), reason: str | None = None
) -> pl.DataFrame:
    """The columns of `ESTIMATE_SCHEMA` behind those of `cells`; of what is not tested, the numbers are NaN.

    Args:
        cells: a row for each cell, with its metric; yardstick, or none of the differences is negligible.
        values: (units, cells).
        settings: draws, level, margin and fewest units.
        family: columns of `cells` that are alike in cells that are corrected together; none: each cell stands alone.
        reason: why nothing is tested.
    """
    numbers = summary(values, settings.confidence)
    numbers |= {"p_wilcoxon": signed_ranks(values), "p_max_t": max_t(values, _families(cells, family), settings)}
    yardstick = cells["yardstick"].fill_null(np.nan) if "yardstick" in cells.columns else pl.Series([np.nan])
    numbers["yardstick"] = np.broadcast_to(yardstick.to_numpy(), len(cells))
    said, reasons = verdicts(cells["metric"], values, numbers, settings)
    table = cells.drop("yardstick", strict=False).with_columns(
        *(pl.Series(name, column) for name, column in numbers.items()),
        verdict=pl.Series(said, dtype=pl.String),
        reason=pl.Series(reasons, dtype=pl.String),
    )
    table = table.with_columns(pl.col(name).cast(dtype) for name, dtype in ESTIMATE_SCHEMA.items())
    too_few = pl.format("{} reviews have a value; at least {} are needed", "n_reviews", pl.lit(settings.min_reviews))
    too_few = pl.when(pl.col("n_reviews") < settings.min_reviews).then(too_few)
    return untested(table, pl.coalesce(pl.lit(reason, pl.String), too_few), "mean", "ci_low", "ci_high", "median")


def untested(table: pl.DataFrame, reason: pl.Expr, *numbers: str) -> pl.DataFrame:
    """`table` without tests and verdict, where there is a `reason` for it; these `numbers` become NaN there too."""
    gone = pl.col("p_wilcoxon", "p_max_t", "yardstick", *numbers)
    return table.with_columns(
        pl.when(reason.is_null()).then(gone).otherwise(np.nan),
        verdict=pl.when(reason.is_null()).then("verdict").otherwise(pl.lit(NOT_TESTED)),
        reason=pl.coalesce(reason, "reason"),
    )


def differences(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`first` - `second`, 0 within the precision of the values; NaN where either has none."""
    difference = first - second
    same = np.abs(difference) <= _PRECISION * np.maximum(np.abs(first), np.abs(second))
    return np.where(same, 0.0, difference)


def means(values: np.ndarray) -> np.ndarray:
    """(cells,) means of `values`; NaN without any."""
    counts = _counts(values)
    return np.nansum(values, axis=0) / np.where(counts > 0, counts, np.nan)


def summary(values: np.ndarray, confidence: float) -> dict[str, np.ndarray]:
    """n_reviews, mean, ci_low, ci_high and median of each cell, (cells,) each."""
    mean, reach = means(values), student_reach(_counts(values), confidence) * standard_errors(values)
    median = np.full(len(mean), np.nan)
    there = ~np.isnan(mean)
    median[there] = np.nanmedian(values[:, there], axis=0)
    ends = {"ci_low": mean - reach, "ci_high": mean + reach}
    return {"n_reviews": _counts(values), "mean": mean, **ends, "median": median}


def standard_errors(values: np.ndarray) -> np.ndarray:
    """(cells,) standard errors of means, with n - 1; 0 where all values of a cell are equal."""
    counts = _counts(values)
    squares = np.where(_varies(values), np.nansum((values - means(values)) ** 2, axis=0), 0.0)
    return np.sqrt(squares / np.maximum(counts - 1, 1) / np.maximum(counts, 1))


def signed_ranks(values: np.ndarray) -> np.ndarray:
    """(cells,) p of Wilcoxon's two-sided signed-rank test, by the normal approximation; NaN where all values are 0."""
    from scipy.stats import wilcoxon

    p, tested = np.full(values.shape[1], np.nan), (np.nan_to_num(values) != 0).any(axis=0)
    whole = ~np.isnan(values).any(axis=0)
    for chosen, policy in ((tested & whole, "propagate"), (tested & ~whole, "omit")):  # the first is faster
        if chosen.any():
            p[chosen] = wilcoxon(values[:, chosen], axis=0, method="asymptotic", nan_policy=policy).pvalue
    return p


def max_t(values: np.ndarray, families: Sequence[np.ndarray], settings: Settings) -> np.ndarray:
    """(cells,) two-sided p of mean 0 by sign flips of Hall's transformed t, corrected by step-down max-T.

    The p of a cell is the share of flips in which the largest |t| of its family's cells that are no more significant
    reaches its own, and never below that of a more significant cell (Westfall & Young 1993). Units are flipped in all
    cells at once, so the correction costs little where neighbouring layers agree.

    Args:
        values: (units, cells); p is NaN in cells with fewer than two values, or too few to be tested.
        families: places of the cells that are corrected together.
        settings: number and seed of the flips.
    """
    p, counts, flips = np.full(values.shape[1], np.nan), _counts(values), sign_flips(len(values), settings)
    for places in families:
        family = places[counts[places] >= max(2, settings.min_reviews)]
        if len(family):
            p[family] = _step_down(_flipped_t(values[:, family], flips))
    return p


def verdicts(
    metrics: pl.Series, values: np.ndarray, numbers: dict[str, np.ndarray], settings: Settings
) -> tuple[np.ndarray, list[str | None]]:
    """What differences from 0 of these `metrics` are, and `ONE_DECIDES` of those that one unit decides; (cells,) each.

    A difference is negligible if its 99 % interval lies within the margin (two one-sided tests at .005); otherwise its
    p decides. With fewer than 16 units none is negligible, and none is said to hang on one: of so few normal values,
    one often carries half of the variance.
    """
    mean, enough = numbers["mean"], numbers["n_reviews"] >= FEWEST
    reach = student_reach(numbers["n_reviews"], _WITHIN) * standard_errors(values)
    within = np.abs(mean) + reach < settings.margin * numbers["yardstick"]
    significant = numbers["p_max_t"] < 1 - settings.confidence
    dominated = enough & (largest_share(values) > _MOST)
    undecided = dominated | (within & ~enough)
    names, places = np.unique(metrics.to_numpy(), return_inverse=True)
    more = np.array([likeness(name) for name in names], dtype=np.int64)[places]
    side = np.where(significant, np.where(mean > 0, 1, -1), 0)
    words = [UNDECIDED, NEGLIGIBLE, MORE_ALIKE, LESS_ALIKE, HIGHER, LOWER]
    said = np.select([undecided, within, side * more > 0, side * more < 0, side > 0, side < 0], words, UNDECIDED)
    return said, [ONE_DECIDES if one else None for one in dominated]


def largest_share(values: np.ndarray) -> np.ndarray:
    """(cells,) share of the variance that one unit carries; 0 where values do not vary."""
    squares = np.nan_to_num((values - means(values)) ** 2)
    total = squares.sum(axis=0)
    return np.where(_varies(values), squares.max(axis=0, initial=0) / np.where(total > 0, total, 1), 0.0)


@lru_cache(maxsize=2)  # comparisons of the same number of reviews share their flips
def sign_flips(n: int, settings: Settings) -> np.ndarray:
    """Signs of `n` units in each flip, (flips, n) float32 of 1 and -1; the first flip changes nothing.

    All 2^n if these are at most `settings.draws`, which makes the p exact; otherwise so many random ones. Because the
    first counts, a p is never 0 and never too small (Phipson & Smyth 2010).
    """
    if n < 63 and 2**n <= settings.draws:
        return (1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)).astype(np.float32)
    flips = np.random.default_rng(settings.seed).integers(0, 2, size=(settings.draws, n), dtype=np.int8) * 2 - 1
    flips[0] = 1
    return flips.astype(np.float32)


def _flipped_t(values: np.ndarray, flips: np.ndarray) -> np.ndarray:
    """(flips, cells) float32 |t| of each cell, each with two values or more, transformed as Hall (1992) does.

    t + g t^2 / (3 sqrt(n)) + g^2 t^3 / (27 n) + g / (6 sqrt(n)), g the skewness.
    """
    counts, present = _counts(values), np.nan_to_num(values)
    scale = np.sqrt((present**2).sum(axis=0) / counts)
    scaled = np.divide(present, scale, out=np.zeros_like(present), where=scale > 0)  # their mean square is 1
    moments = np.hstack([scaled / counts, scaled**3 / counts]).astype(np.float32)
    degrees, third_root = np.sqrt(counts - 1).astype(np.float32), (3 * np.sqrt(counts)).astype(np.float32)
    found = np.empty((len(flips), values.shape[1]), dtype=np.float32)
    size = max(1, _NUMBERS_IN_CACHE // values.shape[1])
    for rows in (slice(start, start + size) for start in range(0, len(flips), size)):
        mean, cube = np.hsplit(flips[rows] @ moments, 2)
        squares = mean * mean
        variance = np.maximum(1 - squares, _NO_VARIANCE)
        scale = 1 / np.sqrt(variance)
        third = np.where(variance > _NO_VARIANCE, cube - mean * (3 - 2 * squares), 0)
        bend, t = third * (scale * scale * scale) / third_root, mean * degrees * scale
        np.abs(t * (1 + bend * t * (1 + bend * t / 3)) + bend / 2, out=found[rows])
    return found


def _step_down(size: np.ndarray) -> np.ndarray:
    """(cells,) corrected p of |t| (flips, cells), the first row that of the sample."""
    order = np.argsort(size[0])
    size = size[:, order]
    least = size[0] - _TIE * (1 + size[0])
    reached = (np.maximum.accumulate(size, axis=1, out=size) >= least).mean(axis=0)
    p = np.empty(len(order))
    p[order] = np.maximum.accumulate(reached[::-1])[::-1]
    return p


def _families(cells: pl.DataFrame, alike: Sequence[str]) -> list[np.ndarray]:
    """Places of the cells that are alike in these columns, family by family."""
    if not alike:
        return [np.array([place]) for place in range(len(cells))]
    return [places.to_numpy() for places in cells.with_row_index("_place").group_by(alike).agg("_place")["_place"]]


def _counts(values: np.ndarray) -> np.ndarray:
    return (~np.isnan(values)).sum(axis=0)


def _varies(values: np.ndarray) -> np.ndarray:
    """Whether a cell has two different values."""
    present = ~np.isnan(values)
    largest = values.max(axis=0, where=present, initial=-np.inf)
    return largest > values.min(axis=0, where=present, initial=np.inf)
