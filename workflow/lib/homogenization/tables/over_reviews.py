"""The choice of accepted reviews, and means over reviews with their intervals."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.names.variants import ORIGINAL

CONFIDENCE = 0.95


def keep_accepted(table: pl.DataFrame, similarity: pl.DataFrame) -> pl.DataFrame:
    """The rows of `table` whose review is accepted in the row's variant, in their order; originals all stay."""
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


def student_reach(counts: np.ndarray, confidence: float) -> np.ndarray:
    """How far Student's interval of the mean of (...,) `counts` values reaches, in standard errors; NaN below two."""
    from scipy.special import stdtrit  # most tables have no interval

    return stdtrit(np.where(np.asarray(counts) > 1, counts - 1.0, np.nan), (1 + confidence) / 2)


def summarise(table: pl.DataFrame, by: Sequence[str], value: str) -> pl.DataFrame:
    """Mean of the column `value` over reviews with Student's 95 % interval, by group, in their order.

    Columns are `by`, n_reviews (values that are not null or NaN), mean, std (n - 1), median, ci_low, ci_high.
    """
    values = pl.col(value).fill_nan(None)
    groups = table.group_by(by, maintain_order=True).agg(
        n_reviews=values.count().cast(pl.Int64), mean=values.mean(), std=values.std(), median=values.median()
    )
    groups = groups.with_columns(pl.col("mean", "std", "median").fill_null(np.nan))
    counts = groups["n_reviews"].to_numpy()
    error = pl.Series(student_reach(counts, CONFIDENCE) / np.sqrt(np.maximum(counts, 1))) * pl.col("std")
    return groups.with_columns(ci_low=pl.col("mean") - error, ci_high=pl.col("mean") + error)
