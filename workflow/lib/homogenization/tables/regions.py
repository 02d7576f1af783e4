"""Parts of the depth, by the names that claims and tables give them; and what depth does to a metric."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.names.points import REGIONS

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
    """What depth does to each metric, and how far reviews lie apart: `cell`, `depth_range` and `review_sd`, sorted.

    `depth_range` is the largest of the layers' medians over reviews minus the smallest. The median keeps single reviews
    out of it. The range, and not the change from the first layer to the last, keeps a metric that rises and falls again
    from having no size. NaN where depth does not move the metric. `review_sd` is the median over the layers of the
    standard deviation over reviews (n - 1); null for one review.

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
        .agg(value.median(), value.sort().std().alias("review_sd"))  # sorted: sums in another order round differently
        .group_by(cell)
        .agg(
            pl.when(moves).then(range_).otherwise(np.nan).alias("depth_range"),
            pl.col("review_sd").median(),
        )
        .sort(cell)
    )
