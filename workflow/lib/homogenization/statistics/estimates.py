"""What every table of estimates says of a mean over reviews: its interval, its checks, its test, and one verdict.

`values` are (n, cells) float64 as in `resampling`: a row for each review, NaN where a review has no value in the cell.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import likeness
from homogenization.names.columns import columns
from homogenization.names.verdicts import (
    HIGHER,
    LESS_ALIKE,
    LOWER,
    MORE_ALIKE,
    NEGLIGIBLE,
    NOT_TESTED,
    UNDECIDED,
)
from homogenization.statistics.resampling import (
    FEWEST_NEGLIGIBLE,
    Resampling,
    flip_p,
    mean_interval,
    means,
    quantiles,
)

#: Columns of a difference or change: what stands beside its mean, and how large it is.
JUDGED_SCHEMA = {
    "median": pl.Float64,  #: over the same reviews
    "p_wilcoxon": pl.Float64,  #: two-sided Wilcoxon signed-rank test; NaN where no value differs from 0
    #: what depth does to the metric in the model: the range over the layers of the originals' median; NaN where depth
    #: does not move it
    "depth_range": pl.Float64,
    #: how far reviews lie apart: the median over the layers of the originals' standard deviation; NaN for one review
    "review_sd": pl.Float64,
    **columns("relative_effect"),
}
#: The verdict on it
VERDICT_SCHEMA = {
    #: `negligible`: the interval lies within `contrasts.margin` × `depth_range`, or × `review_sd` where that is larger,
    #: of 0 (of fewer than 16 reviews this is `undecided`); else `more alike` or `less alike`, or `higher` or `lower` of
    #: a metric that does not say how alike tokens are: `p_max_t` is below 1 − `contrasts.confidence` or, in a table
    #: without it, the interval lies on that side of 0; else `undecided`; `not tested`
    "verdict": pl.String,
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
    """The columns of `averages`, with median and p_wilcoxon beside them; arguments as there."""
    return averages(values, confidence, mean) | {"median": quantiles(values, 0.5), "p_wilcoxon": signed_ranks(values)}


def signed_ranks(values: np.ndarray) -> np.ndarray:
    """P of Wilcoxon's two-sided signed-rank test of each cell, (cells,); NaN where no value differs from 0.

    Values of 0 are left out, as NaN values are. p is from the normal approximation: exact ones take seconds a cell.
    """
    from scipy.stats import wilcoxon

    tested = np.flatnonzero((np.nan_to_num(values) != 0).any(axis=0))
    p = np.full(values.shape[1], np.nan)
    if len(tested):
        p[tested] = wilcoxon(values[:, tested], axis=0, method="asymptotic", nan_policy="omit").pvalue
    return p


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
    """`table` with the columns relative_effect and verdict; depth_range and review_sd are NaN, not null.

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
    interval = tuple(table[name].to_numpy() for name in (mean, "ci_low", "ci_high"))
    found = verdict(interval, margin, p, 1 - resampling.confidence, table["n_reviews"].to_numpy() < fewest)
    tested = table["reason"].is_null().to_numpy() if "reason" in table.columns else True
    return table.with_columns(
        (pl.col(mean) / pl.col("depth_range")).alias("relative_effect"),
        pl.Series("verdict", np.where(tested, _said(found, table["metric"]), NOT_TESTED), dtype=pl.String),
    )


def _said(verdicts: np.ndarray, metrics: pl.Series) -> np.ndarray:
    """The verdicts by `verdict` on differences of these metrics, where a side of 0 is one of likeness in its words."""
    names, places = np.unique(metrics.to_numpy(), return_inverse=True)
    more = np.array([likeness(name) for name in names], dtype=np.int64)[places]
    side = np.select([verdicts == HIGHER, verdicts == LOWER], [1, -1])
    return np.select([side * more > 0, side * more < 0], [MORE_ALIKE, LESS_ALIKE], verdicts)
