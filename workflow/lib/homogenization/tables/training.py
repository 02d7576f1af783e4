"""Losses of every model that is trained, and what a penalty changes."""

from collections.abc import Mapping, Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_table

#: A row for each [trained](training.md) model and step. A step's own columns are empty after the last.
TRAINING_SCHEMA = {**columns("model"), **LOSSES_SCHEMA}
#: What a [penalty](training.md#penalties) changes in a model, and what it costs: the model minus its control, which is
#: trained from the same start, with the same seed and on the same batches, without a penalty. A row for each layer,
#: view and metric of the original reviews, before the final norm.
PENALTIES_SCHEMA = {
    **columns("model"),
    "control": pl.String,  #: name of the control
    **columns("layer", "depth"),
    "penalised": pl.Boolean,  #: whether the penalty reads this layer
    **columns("view", "metric"),
    "mean": pl.Float64,  #: over reviews, of the model
    "control_mean": pl.Float64,  #: of the control
    "difference": pl.Float64,  #: mean minus control_mean
    "loss_difference": pl.Float64,  #: of the held-out losses after the last step (nats a token): what the task pays
}
SCHEMAS = {"training": TRAINING_SCHEMA, "penalties": PENALTIES_SCHEMA}
_CELL = ("layer", "depth", "view", "metric")


def tabulate(
    losses: Sequence[str], models: Sequence[str], controls: Mapping[str, str], summary: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `training` (`TRAINING_SCHEMA`) and `penalties` (`PENALTIES_SCHEMA`).

    Args:
        losses: files of `train_model`.
        models: the model of each.
        controls: the control of each model that has one.
        summary: the table `summary`.
    """
    parts = [
        read_table(path).with_columns(model=pl.lit(model)).select(list(TRAINING_SCHEMA))
        for path, model in zip(losses, models, strict=True)
    ]
    training = pl.concat([pl.DataFrame(schema=TRAINING_SCHEMA), *parts])
    last = training.filter(pl.col("step") == pl.col("step").max().over("model"))
    ends = {model: (loss, layers) for model, loss, layers in last.select("model", "held_out_loss", "layers").rows()}
    means = summary.filter(variant=ORIGINAL, point="residual_stream").select("model", *_CELL, "mean")
    compared = [pl.DataFrame(schema=PENALTIES_SCHEMA)]
    for model, control in sorted(controls.items()):
        (loss, layers), (control_loss, _) = ends[model], ends[control]
        own, other = (means.filter(model=name).drop("model") for name in (model, control))
        both = own.join(other.rename({"mean": "control_mean"}), on=_CELL).sort(_CELL)
        both = both.with_columns(
            model=pl.lit(model),
            control=pl.lit(control),
            penalised=pl.col("layer").is_in([int(layer) for layer in layers.split(",")]),
            difference=pl.col("mean") - pl.col("control_mean"),
            loss_difference=pl.lit(loss - control_loss),
        )
        compared.append(both.select(list(PENALTIES_SCHEMA)))
    return training, pl.concat(compared)
