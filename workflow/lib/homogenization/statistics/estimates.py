"""What every table of estimates says of a mean over reviews: its interval, its checks, its test, and one verdict.

`values` are (n, cells) float64 as in `resampling`: a row for each review, NaN where a review has no value in the cell.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtrit

from homogenization.metrics.catalogue import likeness
from homogenization.names.columns import ENDS, columns, ends_of, with_ends
from homogenization.names.verdicts import (
    CHECKS,
    HIGHER,
    KEPT,
    LESS_ALIKE,
    LOWER,
    MORE_ALIKE,
    NEGLIGIBLE,
    NOT_TESTED,
    ROBUST,
    UNDECIDED,
)
from homogenization.statistics.resampling import (
    FEWEST_NEGLIGIBLE,
    Resampling,
    effect_size,
    flip_p,
    mean_interval,
    means,
    reviews_for_power,
)

INFLUENTIAL = 0.05  # share of the reviews that are left out: at each end of those of a mean
_EXACT = 60  # most values for which the distribution of the signed-rank statistic is counted out

Estimates = tuple[np.ndarray, np.ndarray, np.ndarray]  # estimate, low and high of each cell
#: Columns of a difference or change: how large it is, whether a few reviews carry it, and what it is.
JUDGED_SCHEMA = {
    #: what depth does to the metric in the model: the range over the layers of the originals' median; NaN where depth
    #: does not move it
    "depth_range": pl.Float64,
    #: how far reviews lie apart: the median over the layers of the originals' standard deviation; NaN for one review
    "review_sd": pl.Float64,
    **columns("relative_effect"),
    #: Hodges-Lehmann estimate of the mean; its interval is from the signed-rank test, NaN for fewer than six reviews
    **with_ends(ROBUST),
    #: mean without the smallest and the largest 5 % of the reviews' values; its interval is that of Yuen's test
    **with_ends(KEPT),
    "effect_size": pl.Float64,  #: Cohen's d_z: mean / standard deviation of the values; NaN where all are equal
}
#: The verdict on it
VERDICT_SCHEMA = {
    #: `negligible`: the interval lies within `contrasts.margin` × `depth_range`, or × `review_sd` where that is larger,
    #: of 0 (of fewer than 16 reviews this is `undecided`); else `more alike` or `less alike`, or `higher` or `lower` of
    #: a metric that does not say how alike tokens are: `p_max_t` is below 1 − `contrasts.confidence` or, in a table
    #: without it, the interval lies on that side of 0; else `undecided`; `not tested`
    "verdict": pl.String,
    "fragile": pl.Boolean,  #: whether the interval of `robust` or of `kept` gives another verdict than a decided one
}
#: Reviews that a test of it would take
POWER_SCHEMA = {
    "sample_size_80": pl.Float64,  #: reviews for 80 % power; infinite above 10⁶, NaN without an effect size
}


def averages(values: np.ndarray, confidence: float, mean: str = "estimate") -> dict[str, np.ndarray]:
    """Columns of a table, (cells,) each: n_reviews, `mean`, and the ends of its interval, ci_low and ci_high.

    Args:
        values: (n, cells), NaN values left out.
        confidence: level of the intervals, between 0 and 1.
        mean: name of the column of the mean.
    """
    low, high = mean_interval(values, confidence)
    return {"n_reviews": (~np.isnan(values)).sum(axis=0), mean: means(values), "ci_low": low, "ci_high": high}


def estimates(values: np.ndarray, confidence: float, mean: str = "estimate") -> dict[str, np.ndarray]:
    """The columns of `averages` with the checks of the mean, its effect size and sample_size_80; arguments as there."""
    effect = effect_size(values)
    power = {"effect_size": effect, "sample_size_80": reviews_for_power(effect, power=0.8, alpha=1 - confidence)}
    robust = ends_of(ROBUST, hodges_lehmann(values, confidence)) | ends_of(KEPT, trimmed_mean(values, confidence))
    return averages(values, confidence, mean) | robust | power


def families_of(cells: pl.DataFrame, *alike: str | pl.Expr) -> list[np.ndarray]:
    """Places of the rows of `cells` that are alike in these columns, family by family: what is corrected together."""
    return [places.to_numpy() for places in cells.with_row_index("place").group_by(alike).agg("place")["place"]]


def flip_tests(values: np.ndarray, families: Iterable[np.ndarray], flips: np.ndarray) -> dict[str, np.ndarray]:
    """The columns p_value and p_max_t, (cells,) each: p by sign flips, and the same corrected within its family.

    Args:
        values: (n, cells).
        families: places of the cells of each family; NaN for cells of none.
        flips: (rows, n) signs from `sign_flips`.
    """
    p = np.full((2, values.shape[1]), np.nan)
    for family in families:
        p[:, family] = flip_p(values[:, family], flips)
    return {"p_value": p[0], "p_max_t": p[1]}


def margin_of(share: float, depth_range: np.ndarray, review_sd: np.ndarray) -> np.ndarray:
    """Differences up to here are negligible: `share` of what depth does or, where more, of how far reviews lie apart.

    NaN where depth does not move the metric: it has no size there.
    """
    return share * np.where(np.isnan(depth_range), np.nan, np.fmax(depth_range, review_sd))


def verdict(
    interval: tuple[np.ndarray, np.ndarray, np.ndarray],
    margin: np.ndarray,
    p: np.ndarray | None,
    alpha: float = 0.05,
    few: np.ndarray | bool = False,
) -> np.ndarray:
    """What a difference from 0 is, (cells,): `negligible`, else `higher` or `lower`, else `undecided`.

    It is negligible if its whole interval lies within the margin. Otherwise its p decides where it is one of a family,
    and its interval where it stands alone.

    Args:
        interval: estimate, low and high, (cells,) each; NaN ends say nothing.
        margin: (cells,) from `margin_of`; NaN for what has no size.
        p: (cells,) corrected within the family, NaN without a test; None for what is a family of its own.
        alpha: level of p.
        few: whether these are too few reviews to say that a difference is negligible: it is undecided.
    """
    estimate, low, high = map(np.asarray, interval)
    within = (-margin < low) & (high < margin)
    higher, lower = (low > 0, high < 0) if p is None else ((p < alpha) & (estimate > 0), (p < alpha) & (estimate <= 0))
    return np.select([within & few, within, higher, lower], [UNDECIDED, NEGLIGIBLE, HIGHER, LOWER], UNDECIDED)


def judged(
    table: pl.DataFrame, resampling: Resampling, mean: str = "estimate", fewest: int = FEWEST_NEGLIGIBLE
) -> pl.DataFrame:
    """`table` with the columns relative_effect, verdict and fragile; depth_range and review_sd are NaN, not null.

    Args:
        table: metric, columns of `estimates`, depth_range, review_sd and, of rows that are corrected within a family,
            p_max_t; where it has a reason, a row with one is not tested.
        resampling: margin and level.
        mean: name of the column of the estimate.
        fewest: reviews with which a difference can be negligible; with fewer it is undecided.
    """
    table = table.with_columns(pl.col("depth_range", "review_sd").fill_null(np.nan))
    margin = margin_of(resampling.margin, table["depth_range"].to_numpy(), table["review_sd"].to_numpy())
    p = table["p_max_t"].to_numpy() if "p_max_t" in table.columns else None

    def by(names: Sequence[str], p: np.ndarray | None = None, few: np.ndarray | bool = False) -> np.ndarray:
        return verdict(tuple(table[name].to_numpy() for name in names), margin, p, 1 - resampling.confidence, few)

    found = by((mean, "ci_low", "ci_high"), p, table["n_reviews"].to_numpy() < fewest)
    turned = [table[name].is_finite().to_numpy() & (by([f"{name}{end}" for end in ENDS]) != found) for name in CHECKS]
    tested = table["reason"].is_null().to_numpy() if "reason" in table.columns else True
    return table.with_columns(
        (pl.col(mean) / pl.col("depth_range")).alias("relative_effect"),
        pl.Series("verdict", np.where(tested, _said(found, table["metric"]), NOT_TESTED), dtype=pl.String),
        pl.Series("fragile", np.logical_or(*turned) & (found != UNDECIDED) & tested, dtype=pl.Boolean),
    )


def _said(verdicts: np.ndarray, metrics: pl.Series) -> np.ndarray:
    """The verdicts by `verdict` on differences of these metrics, where a side of 0 is one of likeness in its words."""
    names, places = np.unique(metrics.to_numpy(), return_inverse=True)
    more = np.array([likeness(name) for name in names], dtype=np.int64)[places]
    side = np.select([verdicts == HIGHER, verdicts == LOWER], [1, -1])
    return np.select([side * more > 0, side * more < 0], [MORE_ALIKE, LESS_ALIKE], verdicts)


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
