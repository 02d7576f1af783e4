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
    largest_share,
    mean_interval,
    means,
    quantiles,
)
from homogenization.tables.over_reviews import student_reach

ONE_DECIDES = "one review decides"  # the reason of a difference of which one review carries most of the variance
_MOST = 0.5  # of the variance
_FEW = 3  # of so few values, one always carries half or more
_WITHIN = 0.99  # level of the interval that lies within the margin where a difference is negligible
#: Columns of a difference or change: what stands beside its mean, and how large it is.
JUDGED_SCHEMA = {
    "median": pl.Float64,  #: over the same reviews
    "p_wilcoxon": pl.Float64,  #: two-sided Wilcoxon signed-rank test; NaN where no value differs from 0
    #: what a difference is measured by: how far depth moves the metric in the originals of the model without the first
    #: token or, where that is more, how far reviews lie apart; one number for all views
    "yardstick": pl.Float64,
    **columns("relative_effect"),
}
#: The verdict on it
VERDICT_SCHEMA = {
    #: `negligible`: the 99 % interval lies within `contrasts.margin` × `yardstick` of 0 (of 16 reviews or more); else
    #: `more alike` or `less alike`, or `higher` or `lower` of a metric that does not say how alike tokens are:
    #: `p_max_t` is below 1 − `contrasts.confidence` or, in a table without it, the interval lies on that side of 0;
    #: else `undecided`, also where one review decides; `not tested`
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


def estimates(values: np.ndarray, confidence: float, mean: str = "estimate") -> dict[str, np.ndarray | pl.Series]:
    """The columns of `averages`, with median, p_wilcoxon and reason (`dominance`) beside them; arguments as there."""
    return averages(values, confidence, mean) | {
        "median": quantiles(values, 0.5),
        "p_wilcoxon": signed_ranks(values),
        "reason": dominance(values),
    }


def dominance(values: np.ndarray) -> pl.Series:
    """`ONE_DECIDES` of the cells in which one review carries more than half of the variance, and else None."""
    dominated = (largest_share(values) > _MOST) & ((~np.isnan(values)).sum(axis=0) > _FEW)
    return pl.Series([ONE_DECIDES if one else None for one in dominated], dtype=pl.String)


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


def verdicts(
    table: pl.DataFrame, resampling: Resampling, mean: str = "estimate", fewest: int = FEWEST_NEGLIGIBLE
) -> np.ndarray:
    """What differences from 0 are, (rows,): `negligible`, else `higher` or `lower`, else `undecided`.

    A difference is negligible if its 99 % interval lies within the margin (two one-sided tests at .005). Otherwise its
    p decides where it is one of a family, and its interval where it stands alone. Where one review decides, it is
    undecided.

    Args:
        table: `mean`, ci_low, ci_high, n_reviews, yardstick, reason and, of rows that are corrected within a family,
            p_max_t. The 99 % interval is as much wider as Student's is.
        resampling: margin and level.
        mean: name of the column of the estimate.
        fewest: reviews with which a difference can be negligible.
    """
    estimate, low, high, n, yardstick = table.select(mean, "ci_low", "ci_high", "n_reviews", "yardstick").to_numpy().T
    wider = student_reach(n, _WITHIN) / student_reach(n, resampling.confidence)
    reach = np.maximum(wider * (high - estimate) + estimate, wider * (estimate - low) - estimate)
    within = reach < resampling.margin * yardstick
    higher, lower = low > 0, high < 0
    if "p_max_t" in table.columns:
        significant = table["p_max_t"].to_numpy() < 1 - resampling.confidence
        higher, lower = significant & (estimate > 0), significant & (estimate <= 0)
    undecided = table["reason"].eq_missing(ONE_DECIDES).to_numpy() | (within & (n < fewest))
    return np.select([undecided, within, higher, lower], [UNDECIDED, NEGLIGIBLE, HIGHER, LOWER], UNDECIDED)


def judged(
    table: pl.DataFrame, resampling: Resampling, mean: str = "estimate", fewest: int = FEWEST_NEGLIGIBLE
) -> pl.DataFrame:
    """`table` with the columns relative_effect and verdict; a yardstick that is null becomes NaN.

    Args:
        table: metric, columns of `estimates`, yardstick and, of rows that are corrected within a family, p_max_t; a row
            with a reason other than `ONE_DECIDES` is not tested.
        resampling: margin and level.
        mean: name of the column of the estimate.
        fewest: reviews with which a difference can be negligible; with fewer it is undecided.
    """
    table = table.with_columns(pl.col("yardstick").fill_null(np.nan))
    found = _said(verdicts(table, resampling, mean, fewest), table["metric"])
    tested = (table["reason"].is_null() | (table["reason"] == ONE_DECIDES)).to_numpy()
    return table.with_columns(
        (pl.col(mean) / pl.col("yardstick")).alias("relative_effect"),
        pl.Series("verdict", np.where(tested, found, NOT_TESTED), dtype=pl.String),
    )


def _said(verdicts: np.ndarray, metrics: pl.Series) -> np.ndarray:
    """The `verdicts` on differences of these metrics, where a side of 0 is one of likeness in its words."""
    names, places = np.unique(metrics.to_numpy(), return_inverse=True)
    more = np.array([likeness(name) for name in names], dtype=np.int64)[places]
    side = np.select([verdicts == HIGHER, verdicts == LOWER], [1, -1])
    return np.select([side * more > 0, side * more < 0], [MORE_ALIKE, LESS_ALIKE], verdicts)
