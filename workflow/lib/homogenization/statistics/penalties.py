"""The table `penalties`: what a penalty changes in trained models, and what it costs, over seeds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings, estimate
from homogenization.tables.over_reviews import as_array
from homogenization.tables.regions import yardsticks

_SEEDS = {"n_reviews": "n_seeds"}
#: What a [penalty](interventions.md#penalties) changes in the mean over the original reviews, and what the task
#: pays: the models of one entry minus their controls, seed by seed, which are trained from the same start and on the
#: same batches without a penalty. A row for each layer, view and metric before the final norm, and one for the loss.
PENALTIES_SCHEMA = {
    "model": pl.String,  #: name of the entry
    "control": pl.String,  #: name of the entry that is its control
    **columns("layer", "depth"),  # null for the loss
    "penalised": pl.Boolean,  #: whether the penalty reads this layer, in any seed; null for the loss
    "view": pl.String,  #: a view, or `held_out`
    "metric": pl.String,  #: a metric, or `loss` of the held-out texts after the last step, in nats a token
    **{_SEEDS.get(name, name): dtype for name, dtype in ESTIMATE_SCHEMA.items()},
}
SCHEMAS = {"penalties": PENALTIES_SCHEMA}
_CELL = ("view", "metric", "layer", "depth")


def tabulate(
    training: pl.DataFrame, summary: pl.DataFrame, controls: Mapping[str, str], resampling: Mapping[str, Any]
) -> pl.DataFrame:
    """The table `penalties` from `training` and `summary`.

    `controls` has the control of each model that has one, by their names, which end in `-` and the seed.
    """
    last = training.filter(pl.col("step") == pl.col("step").max().over("model"))
    losses = last.select("model", view=pl.lit("held_out"), metric=pl.lit("loss"), value="held_out_loss")
    means = summary.filter(variant=ORIGINAL, point=RESIDUAL_STREAM)
    values = pl.concat([means.select("model", *_CELL, value="mean"), losses], how="diagonal")
    arms: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for pair in sorted(controls.items()):
        arms.setdefault(tuple(name.rpartition("-")[0] for name in pair), []).append(pair)
    parts = [pl.DataFrame(schema=PENALTIES_SCHEMA)]
    for (model, control), pairs in arms.items():
        own, others = (values.filter(pl.col("model").is_in(names)) for names in zip(*pairs, strict=True))
        cells = own.select(_CELL).unique().sort(_CELL)
        sides = [
            np.stack([as_array(rows.filter(model=name), "value", cells) for name in names])
            for rows, names in zip((own, others), zip(*pairs, strict=True), strict=True)
        ]
        sized = cells.join(yardsticks(others, ["metric"]), on=("view", "metric"), how="left", maintain_order="left")
        table = estimate(sized, sides[0] - sides[1], Settings(**resampling), ("view", "metric")).rename(_SEEDS)
        read = training.filter(pl.col("model").is_in([name for name, _ in pairs]))["layers"].str.split(",")
        penalised = pl.col("layer").is_in(read.explode().cast(pl.Int32).to_list())
        named = table.with_columns(model=pl.lit(model), control=pl.lit(control), penalised=penalised)
        parts.append(named.select(*PENALTIES_SCHEMA).cast(PENALTIES_SCHEMA))
    return pl.concat(parts)
