"""Parts of the depth, by the names that claims and tables give them; and what depth does to a metric."""

from collections.abc import Sequence

import numpy as np
import polars as pl

REGIONS = {"first": (0.0, 0.25), "middle": (0.25, 0.75), "last": (0.75, np.inf)}  # ranges of depth, upper end excluded
_OUTPUT_DEPTH = 1.0
_ROUNDING = 1e-9  # relative to the values: a metric that varies by less over depth does not vary


def at_layers(name: str) -> pl.Expr:
    """Whether a row, by its columns layer and depth, is one of `all`, `input`, `output` or a region of `REGIONS`."""
    depth = pl.col("depth")
    if name in REGIONS:
        low, high = REGIONS[name]
        return (depth >= low) & (depth < high)
    return {"all": pl.lit(True), "input": pl.col("layer") == 0, "output": depth >= _OUTPUT_DEPTH}[name]


def ranges_over_depth(rows: pl.DataFrame, cell: Sequence[str]) -> pl.DataFrame:
    """`cell` and `depth_range`: the largest of the layers' medians over reviews, less the smallest; sorted.

    The median keeps single reviews out of it. The range, and not the change from the first layer to the last, keeps a
    metric that rises and falls again from having no size. NaN where depth does not move the metric.

    Args:
        rows: columns of `cell`, layer and value.
        cell: columns that tell metrics apart.
    """
    value = pl.col("value")
    range_ = value.max() - value.min()
    moves = range_ > _ROUNDING * value.abs().max()
    return (
        rows.filter(value.is_finite())
        .group_by(*cell, "layer")
        .agg(value.median())
        .group_by(cell)
        .agg(pl.when(moves).then(range_).otherwise(np.nan).alias("depth_range"))
        .sort(cell)
    )
