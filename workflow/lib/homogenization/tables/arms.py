"""Every metric of trained models over seeds, and of pairs of arms seed by seed: the replicate is the seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.run.parquet import read_table
from homogenization.tables.over_reviews import t_factor

_CELL = ("variant", "point", "layer", "depth", "view", "metric")
ARMS_SCHEMA = {
    "arm": pl.String,
    "minus": pl.String,
    "step": pl.Int64,
    "variant": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "view": pl.String,
    "metric": pl.String,
    "n_seeds": pl.Int64,
    **dict.fromkeys(("mean", "lowest", "highest", "ci_low", "ci_high"), pl.Float64),
}


def seed_values(summary: pl.DataFrame, models: Sequence[Sequence[Any]], by: Sequence[str] = _CELL) -> pl.DataFrame:
    """Columns arm, seed, step, `by` and value: the mean over reviews of each trained model.

    Args:
        summary: the table `summary`, or any with the columns model, `by` and `mean`.
        models: [model, arm, seed, step] of each trained model.
        by: columns of the cells.
    """
    schema = {"model": pl.String, "arm": pl.String, "seed": pl.Int64, "step": pl.Int64}
    named = pl.DataFrame(list(models), schema=schema, orient="row")
    joined = summary.join(named, on="model", maintain_order="left")
    return joined.select("arm", "seed", "step", *by, value="mean")


def paired_values(
    summary: pl.DataFrame, models: Sequence[Sequence[Any]], arm: str, minus: str, by: Sequence[str] = _CELL
) -> pl.DataFrame:
    """Columns arm, minus, seed, step, `by` and value: an arm less another of the same seed and step.

    A model without seeds is subtracted from each.

    Args:
        summary: as for `seed_values`; it has the columns `by`.
        models: [model, arm, seed, step] of each trained model.
        arm: name of an arm.
        minus: name of another arm, or of a model without seeds.
        by: columns of the cells.
    """
    values = seed_values(summary, models, by)
    one = values.filter(arm=arm)
    if minus in {name for _, name, _, _ in models}:
        other, keys = values.filter(arm=minus), ["seed", "step", *by]
    else:
        other, keys = summary.filter(model=minus).select(*by, value="mean"), [*by]
    paired = one.join(other.select(*keys, less="value"), on=keys, maintain_order="left")
    return paired.select(
        "arm", pl.lit(minus).alias("minus"), "seed", "step", *by, value=pl.col("value") - pl.col("less")
    )


def arms_table(summary: pl.DataFrame, models: Sequence[Sequence[Any]], pairs: Sequence[Sequence[str]]) -> pl.DataFrame:
    """The table `arms` (`ARMS_SCHEMA`), sorted by its keys: each arm, and each pair, over seeds.

    The interval is Student's 95 % interval over seeds, NaN for one seed.

    Args:
        summary: the table `summary`.
        models: [model, arm, seed, step] of each trained model.
        pairs: [arm, minus].
    """
    alone = seed_values(summary, models).with_columns(minus=pl.lit(None, pl.String))
    columns = ["arm", "minus", "seed", "step", *_CELL, "value"]
    parts = [alone.select(columns)]
    parts += [paired_values(summary, models, *pair).select(columns) for pair in pairs]
    keys, value = ["arm", "minus", "step", *_CELL], pl.col("value")
    over_seeds = (
        pl.concat(parts)
        .drop_nans("value")
        .drop_nulls("value")
        .group_by(keys)
        .agg(
            value.count().cast(pl.Int64).alias("n_seeds"),
            value.sort().mean().alias("mean"),
            value.min().alias("lowest"),
            value.max().alias("highest"),
            value.sort().std().alias("std"),
        )
        .sort(keys)
    )
    reach = over_seeds["std"].fill_null(np.nan) * pl.Series(t_factor(over_seeds["n_seeds"].to_numpy()))
    mean = over_seeds["mean"]
    return over_seeds.with_columns(ci_low=mean - reach, ci_high=mean + reach).select(
        pl.col(name).cast(dtype) for name, dtype in ARMS_SCHEMA.items()
    )


def tabulate(inputs: Any, models: Sequence[Sequence[Any]], pairs: Sequence[Sequence[str]]) -> pl.DataFrame:
    """The table `arms` of the table `inputs.summary`; `models` and `pairs` as for `arms_table`."""
    return arms_table(read_table(inputs.summary), models, pairs)
