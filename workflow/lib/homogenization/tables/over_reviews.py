"""The choice of accepted reviews, and means over reviews with their intervals."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.names.variants import ORIGINAL

CONFIDENCE = 0.95
_SKEWED = 8  # fewest values whose skewness counts, as in `scipy.stats.skewtest`


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


def as_array(table: pl.DataFrame, value: str, *axes: pl.DataFrame) -> np.ndarray:
    """A column as float64 with a dimension for the rows of each of `axes`; NaN where `table` has no row, or null.

    Args:
        table: long table; its rows that belong to no row of an axis are left out.
        value: the column.
        *axes: the columns that name places, in the order of these.
    """
    for number, axis in enumerate(axes):
        table = table.join(axis.with_row_index(f"_{number}"), on=axis.columns, nulls_equal=True)
    values = np.full([len(axis) for axis in axes], np.nan)
    values[tuple(table[f"_{number}"].to_numpy() for number in range(len(axes)))] = table[value].to_numpy()
    return values


def mean_reach(counts: np.ndarray, skewness: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """How far the interval of a mean reaches below and above it, in standard errors: (...,) each; NaN below 2 values.

    Student's quantile, or that of t with Hall's correction of the skewness (1992) where this reaches further: towards
    the long tail, whose values a sample may lack. So the interval is never shorter than Student's. A sample shows too
    small a skewness, the more so the fewer values it has: 1.2 + 13 / n times that is corrected, by which the rates in
    docs/statistics.md hold. The skewness of fewer than eight values is noise.

    Args:
        counts: number of values.
        skewness: of the sample (adjusted, G1); NaN where values do not vary.
        confidence: level of the interval, between 0 and 1.
    """
    from scipy.special import stdtrit  # most tables have no interval

    counts = np.asarray(counts, dtype=np.float64)
    quantile = stdtrit(np.where(counts > 1, counts - 1, np.nan), (1 + confidence) / 2)
    bend, shift = _hall(counts, skewness)

    def corrected(t: np.ndarray) -> np.ndarray:
        root = np.cbrt(1 + 3 * bend * (t - shift))
        return 3 * (t - shift) / (root**2 + root + 1)

    return np.fmax(quantile, corrected(quantile)), np.fmax(quantile, -corrected(-quantile))


def corrected_t(t: np.ndarray, counts: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Hall's transformation of t, which takes the skewness of a mean out of it: (...,).

    `t` is the mean in standard errors; the others are those of `mean_reach`.
    """
    bend, shift = _hall(counts, skewness)
    bent = bend * t
    return t * (1 + bent * (1 + bent / 3)) + shift


def _hall(counts: np.ndarray, skewness: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coefficient of t^2 in Hall's transformation of t, and its constant."""
    counts = np.maximum(counts, 1)
    known = (counts >= _SKEWED) & np.isfinite(skewness)
    bend = np.where(known, (1.2 + 13 / counts) * skewness, 0.0) / (3 * np.sqrt(counts))
    return bend, bend / 2


def summarise(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Mean over reviews with its 95 % interval (`mean_reach`), by group, in the order of first appearance.

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
            values.skew(bias=False).alias("_skewness"),
        )
        .with_columns(pl.col("mean", "std", "median").fill_null(float("nan")))
    )
    counts, skewness = groups["n_reviews"], groups["_skewness"].fill_null(np.nan)
    below, above = mean_reach(counts.to_numpy(), skewness.to_numpy(), CONFIDENCE)
    error = pl.col("std").fill_null(np.nan) / counts.sqrt()
    ends = pl.col("mean") - error * pl.Series(below), pl.col("mean") + error * pl.Series(above)
    return groups.with_columns(ci_low=ends[0], ci_high=ends[1]).drop("_skewness")
