"""The choice of accepted reviews, and means over reviews with their intervals."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.vocabulary.variants import ORIGINAL

CONFIDENCE = 0.95


def keep_accepted(table: pl.DataFrame, similarity: pl.DataFrame) -> pl.DataFrame:
    """The rows of `table` whose review is accepted in the row's variant, in their order; originals all stay.

    Args:
        table: any table by review, with the columns variant and review_id.
        similarity: tables/similarity.parquet.
    """
    in_table = pl.col("variant") == ORIGINAL
    accepted = similarity.filter("accepted").group_by("variant").agg("review_id")
    for variant, reviews in accepted.iter_rows():
        in_table |= (pl.col("variant") == variant) & pl.col("review_id").is_in(reviews)
    return table.filter(in_table)


def t_factor(counts: np.ndarray) -> np.ndarray:
    """Half-width of the 95 % Student t interval of a mean over `counts` values, in standard deviations; NaN below 2."""
    from scipy.special import stdtrit  # most tables have no interval

    counts = np.asarray(counts, dtype=np.float64)
    enough = np.where(counts > 1, counts, np.nan)
    return stdtrit(enough - 1, (1 + CONFIDENCE) / 2) / np.sqrt(enough)


def linearised(ratios: np.ndarray, in_scales: np.ndarray) -> np.ndarray:
    """Values of reviews with the mean of `ratios`, that vary as this mean does when reviews are drawn.

    The scale of a ratio is a mean over the other reviews, so a review that is drawn stands in the scales of all. Its
    value is its ratio minus what it takes there, to first order (the projection of a U-statistic, Hoeffding 1948).

    Args:
        ratios: (n, cells); NaN where a review has none.
        in_scales: (n, cells) what each review takes from the mean ratio because it is in all scales (`probing.shifts`).

    Returns:
        (n, cells), NaN as `ratios`.
    """
    added = np.where(np.isnan(ratios), np.nan, in_scales)
    counts = (~np.isnan(added)).sum(axis=0)
    return ratios - (added - np.nansum(added, axis=0) / np.where(counts > 0, counts, np.nan))


def summarise(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Mean over reviews with its 95 % Student t interval, by group, in the order of first appearance.

    Args:
        table: one row for each group and review.
        by: columns of the group.
        value: column; null and NaN values are left out.

    Returns:
        `by`, n_reviews (number of values), mean, std (n - 1), median, ci_low, ci_high; NaN for too few values.
    """
    values = pl.col("_value")
    groups = (
        table.with_columns(pl.col(value).fill_nan(None).alias("_value"))
        .group_by(by, maintain_order=True)
        .agg(
            values.count().cast(pl.Int64).alias("n_reviews"),
            values.mean().alias("mean"),
            values.std().alias("std"),
            values.median().alias("median"),
        )
        .with_columns(pl.col("mean", "std", "median").fill_null(float("nan")))
    )
    half_width = groups["std"] * pl.Series(t_factor(groups["n_reviews"].to_numpy()))
    return groups.with_columns(
        (groups["mean"] - half_width).alias("ci_low"), (groups["mean"] + half_width).alias("ci_high")
    )
