"""Losses of every training run, with those that counts of tokens reach."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_table
from homogenization.training.schemas import LOSSES_SCHEMA

#: A row for each [trained](training.md) arm, seed and step. A step's own columns are empty after the last.
TRAINING_SCHEMA = {**columns("arm", "seed"), **LOSSES_SCHEMA}
SCHEMAS = (TRAINING_SCHEMA,)


def training_table(losses: Sequence[pl.DataFrame], arms: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """The table `training` (`TRAINING_SCHEMA`): a row for each arm, seed and step, sorted.

    Args:
        losses: what the jobs of `train_model` measured; the end of one snapshot and the start of the next are one row.
        arms: arm and seed of each.
    """
    parts = [pl.DataFrame(schema=TRAINING_SCHEMA)]
    for table, (arm, seed) in zip(losses, arms, strict=True):
        parts.append(table.with_columns(arm=pl.lit(arm), seed=pl.lit(seed, pl.Int64)).select(list(TRAINING_SCHEMA)))
    keys = ["arm", "seed", "step"]
    # what was measured at an end and at a start is the same where both have it
    first = pl.all().exclude(keys).drop_nulls().first()
    return pl.concat(parts).group_by(keys, maintain_order=True).agg(first).sort(keys)


def tabulate(inputs: Any, arms: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """The table `training` of the files `inputs.losses`; `arms` are arm and seed of each."""
    return training_table([read_table(path) for path in inputs.losses], arms)
