"""Losses of every model that is trained."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.parquet import read_table

#: A row for each [trained](interventions.md#training) model and step. A step's own columns are empty after the last.
TRAINING_SCHEMA = {**columns("model"), **LOSSES_SCHEMA}
SCHEMAS = {"training": TRAINING_SCHEMA}


def tabulate(losses: Sequence[str], models: Sequence[str]) -> pl.DataFrame:
    """The table `training` from the files of `train_model`, whose `models` have the same order."""
    tables = [read_table(path).with_columns(model=pl.lit(name)) for path, name in zip(losses, models, strict=True)]
    return pl.concat(table.select(list(TRAINING_SCHEMA)) for table in tables)
