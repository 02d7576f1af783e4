"""Every metric of trained models over seeds, and of pairs of arms seed by seed: the replicate is the seed."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.tables.over_reviews import with_interval

AT_STEP, AT_LOSS = "step", "loss"
_CELL = ("variant", "point", "layer", "depth", "view", "metric")
#: A row for each arm, or arm minus another, step or equal loss, and cell of `summary.parquet`. A value is that of a
#: seed: the mean over reviews. Intervals are at 95 % over seeds: of fewer than eight, Student's.
ARMS_SCHEMA = {
    **columns("arm"),
    #: arm or model that is subtracted, of the same seed and step where it has seeds; null for an arm by itself
    "minus": pl.String,
    "at": pl.String,  #: `step`: after as many steps; `loss`: where both arms have the same held-out loss
    "step": pl.Int64,  #: null at equal loss
    "loss": pl.Float64,  #: that loss, mean over seeds (nats); null after equal steps
    **columns(*_CELL),
    "n_seeds": pl.Int64,  #: seeds with a value
    "mean": pl.Float64,  #: over seeds
    **dict.fromkeys(("lowest", "highest"), pl.Float64),  #: of a seed
    **columns("ci_low", "ci_high"),
}
SCHEMAS = (ARMS_SCHEMA,)


def seed_values(summary: pl.DataFrame, models: Sequence[Sequence[Any]], by: Sequence[str] = _CELL) -> pl.DataFrame:
    """Columns arm, seed, step, `by` and value: the mean over reviews of each trained model.

    Args:
        summary: the table `summary`, or any with the columns model, `by` and `mean`.
        models: [model, arm, seed, step] of each trained model.
        by: columns of the cells.
    """
    schema = {"model": pl.String, "arm": pl.String, "seed": pl.Int64, "step": pl.Int64}
    entries = pl.DataFrame(list(models), schema=schema, orient="row")
    joined = summary.join(entries, on="model", maintain_order="left")
    return joined.select("arm", "seed", "step", *by, value="mean")


def paired_values(
    summary: pl.DataFrame, models: Sequence[Sequence[Any]], pair: Sequence[str], by: Sequence[str] = _CELL
) -> pl.DataFrame:
    """Columns arm, minus, seed, step, `by` and value: an arm minus another of the same seed and step.

    A model without seeds is subtracted from each.

    Args:
        summary: as for `seed_values`, like `models` and `by`.
        models: [model, arm, seed, step] of each trained model.
        pair: name of an arm, and that of another arm or of a model without seeds.
        by: columns of the cells.
    """
    arm, minus = pair
    values = seed_values(summary, models, by)
    one = values.filter(arm=arm)
    if minus in {name for _, name, _, _ in models}:
        other, keys = values.filter(arm=minus), ["seed", "step", *by]
    else:
        other, keys = summary.filter(model=minus).select(*by, value="mean"), [*by]
    paired = one.join(other.select(*keys, other="value"), on=keys, maintain_order="left")
    return paired.select(
        "arm", pl.lit(minus).alias("minus"), "seed", "step", *by, value=pl.col("value") - pl.col("other")
    )


def paired_at_loss(
    summary: pl.DataFrame,
    models: Sequence[Sequence[Any]],
    training: pl.DataFrame,
    pair: Sequence[str],
    by: Sequence[str] = _CELL,
) -> pl.DataFrame:
    """Columns arm, minus, seed, loss, `by` and value: an arm minus another where both have learnt as much.

    That is the lowest held-out loss that both reach in a snapshot. The other arm, which went below it, is interpolated
    linearly in the loss between the two snapshots around it. A seed without such snapshots has no row.

    Args:
        summary: as for `paired_values`.
        models: [model, arm, seed, step] of each trained model.
        training: the table `training`.
        pair: names of two arms.
        by: columns of the cells.
    """
    arm, minus = pair
    values = seed_values(summary, models, by)
    losses = values.select("arm", "seed", "step").unique().join(training, on=["arm", "seed", "step"])
    shares = []
    for seed in sorted(set(values.filter(arm=arm)["seed"]) & set(values.filter(arm=minus)["seed"])):
        paths = {
            name: losses.filter(arm=name, seed=seed).sort("step").select("step", "held_out_loss").drop_nulls().rows()
            for name in (arm, minus)
        }
        if not all(paths.values()):
            continue
        loss = max(min(value for _, value in path) for path in paths.values())
        by_arm = {name: _shares_at(path, loss) for name, path in paths.items()}
        if all(by_arm.values()):
            shares += [(name, seed, step, loss, share) for name, of in by_arm.items() for step, share in of]
    schema = {"arm": pl.String, "seed": pl.Int64, "step": pl.Int64, "loss": pl.Float64, "share": pl.Float64}
    weighed = values.join(pl.DataFrame(shares, schema=schema, orient="row"), on=["arm", "seed", "step"])
    keys = ["seed", "loss", *by]
    weighed = weighed.drop_nulls("value")
    interpolated = weighed.group_by("arm", *keys).agg((pl.col("value") * pl.col("share")).sum(), pl.col("share").sum())
    whole = interpolated.filter(pl.col("share") > 1 - 1e-9).drop("share")  # no snapshot lacks the cell
    one, other = (whole.filter(arm=name).drop("arm") for name in (arm, minus))
    paired = one.join(other.rename({"value": "other"}), on=keys, maintain_order="left").sort(keys)
    return paired.select(
        *(pl.lit(name).alias(column) for column, name in (("arm", arm), ("minus", minus))),
        *keys,
        value=pl.col("value") - pl.col("other"),
    )


def _shares_at(path: Sequence[tuple[int, float]], loss: float) -> list[tuple[int, float]]:
    """Steps and weights whose weighted loss is `loss`: where a run of [step, loss], by step, first comes down to it."""
    if path[0][1] == loss:
        return [(path[0][0], 1.0)]
    for (before, high), (after, low) in pairwise(path):
        if high > loss >= low:
            share = (high - loss) / (high - low)
            return [(before, 1 - share), (after, share)] if share < 1 else [(after, 1.0)]
    return []


def tabulate(
    summary: pl.DataFrame,
    training: pl.DataFrame,
    models: Sequence[Sequence[Any]],
    pairs: Sequence[Sequence[str]],
) -> pl.DataFrame:
    """The table `arms` (`ARMS_SCHEMA`), sorted by its keys: each arm, and each pair, over seeds.

    Pairs of arms with snapshots are compared after equal steps, and where they have learnt as much. The interval is
    a 95 % interval over seeds (`mean_reach`), NaN for one seed.

    Args:
        summary: the table `summary`.
        training: the table `training`.
        models: [model, arm, seed, step] of each trained model.
        pairs: [arm, minus].
    """
    alone = seed_values(summary, models).with_columns(minus=pl.lit(None, pl.String))
    at_step = [alone, *(paired_values(summary, models, pair) for pair in pairs)]
    n_steps = Counter(arm for arm, _ in {(arm, step) for _, arm, _, step in models})
    with_snapshots = {arm for arm, n in n_steps.items() if n > 1}
    both = [pair for pair in pairs if with_snapshots.issuperset(pair)]
    at_loss = [paired_at_loss(summary, models, training, pair) for pair in both]
    parts = [part.with_columns(pl.lit(AT_STEP).alias("at"), pl.lit(None, pl.Float64).alias("loss")) for part in at_step]
    parts += [part.with_columns(pl.lit(AT_LOSS).alias("at"), pl.lit(None, pl.Int64).alias("step")) for part in at_loss]
    keys, value = ["arm", "minus", "at", "step", *_CELL], pl.col("value")
    over_seeds = (
        pl.concat(part.select(*keys, "seed", "loss", "value") for part in parts)
        .drop_nans("value")
        .drop_nulls("value")
        .group_by(keys)
        .agg(
            pl.col("loss").sort().mean(),
            value.count().cast(pl.Int64).alias("n_seeds"),
            value.sort().mean().alias("mean"),
            value.min().alias("lowest"),
            value.max().alias("highest"),
            value.sort().std().alias("std"),
            value.sort().skew(bias=False).alias("_skewness"),
        )
        .sort(keys)
    )
    return with_interval(over_seeds, over_seeds["n_seeds"]).select(
        pl.col(name).cast(dtype) for name, dtype in ARMS_SCHEMA.items()
    )
