"""Losses of every model that is trained."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.parquet import read_table

#: A row for each [trained](training.md) model and step. A step's own columns are empty after the last.
TRAINING_SCHEMA = {**columns("model"), **LOSSES_SCHEMA}
SCHEMAS = {"training": TRAINING_SCHEMA}


def tabulate(losses: Sequence[str], models: Sequence[str]) -> pl.DataFrame:
    """A row for each model and step: the table `training` (`TRAINING_SCHEMA`).

    Args:
        losses: files of `train_model`.
        models: the model of each.
    """
    parts = [
        read_table(path).with_columns(model=pl.lit(model)).select(list(TRAINING_SCHEMA))
        for path, model in zip(losses, models, strict=True)
    ]
    return pl.concat([pl.DataFrame(schema=TRAINING_SCHEMA), *parts])
