"""Estimates of how far the components of a block move an anisotropy or the dimension."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.claims.keys import OTHERS
from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings, estimate

_GROUP_OF = {  # component of the table `components` -> name in claims
    **dict.fromkeys(("attention_addition", "feed_forward_addition", "addition"), "residual"),
    **dict.fromkeys(("norm_1", "post_norm_1", "norm_2", "post_norm_2"), "norm"),
    "attention": "attention",
    "feed_forward": "feed_forward",
}
_CELL = ("model", "variant", "view", "metric")


def component_estimates(components: pl.DataFrame, named: Sequence[str], settings: Settings) -> pl.DataFrame:
    """The mean over blocks and reviews of changes by components: `_CELL`, component and the columns of estimates.

    Args:
        components: the table `components`. The changes by the additions of a block are summed, and those by its norms.
        named: what rows are wanted: of a component the change; of several, with ` − others` behind their names, the
            size of the change by the one of them that moves least, minus that by the other component that moves most.
        settings: of the estimator.
    """
    changes = (
        components.with_columns(component=pl.col("component").replace_strict(_GROUP_OF))
        .group_by(*_CELL, "review_id", "layer", "component")
        .agg(pl.col("change").sum())
        .filter(pl.col("change").is_not_nan())
        .sort("review_id", "layer")  # sums in another order round differently
        .group_by(*_CELL, "review_id", "component", maintain_order=True)
        .agg(pl.col("change").mean(), pl.col("change").abs().mean().alias("size"))
    )
    parts = [pl.DataFrame(schema={"component": pl.String, **dict.fromkeys(_CELL, pl.String), **ESTIMATE_SCHEMA})]
    for cell, rows in sorted(changes.partition_by(_CELL, as_dict=True).items()):
        change, size = (rows.pivot("component", index="review_id", values=of) for of in ("change", "size"))
        columns = {name: column for name in dict.fromkeys(named) if (column := _values(name, change, size)) is not None}
        cells = pl.DataFrame({"component": list(columns)}).with_columns(
            pl.lit(value).alias(name) for name, value in zip(_CELL, cell, strict=True)
        )
        if columns:
            parts.append(estimate(cells, np.column_stack(list(columns.values())), settings))
    return pl.concat(parts)


def _values(name: str, change: pl.DataFrame, size: pl.DataFrame) -> np.ndarray | None:
    """The value of each review; None where the blocks lack a component."""
    largest = name.removesuffix(OTHERS).split(", ")
    others = [one for one in size.columns[1:] if one not in largest]
    if not set(largest) <= set(size.columns) or not others:
        return None
    if not name.endswith(OTHERS):
        return change[name].to_numpy()
    means = size.select(pl.exclude("review_id").mean()).row(0, named=True)
    return (size[min(largest, key=means.get)] - size[max(others, key=means.get)]).to_numpy()
