"""Losses of every training run, with those that counts of tokens reach."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.parquet import read_table

#: A row for each [trained](training.md) arm, seed and step. A step's own columns are empty after the last.
TRAINING_SCHEMA = {**columns("arm", "seed"), **LOSSES_SCHEMA}
SCHEMAS = (TRAINING_SCHEMA,)


def tabulate(losses: Sequence[str], arms: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """A row for each arm, seed and step, sorted: the table `training` (`TRAINING_SCHEMA`).

    Args:
        losses: files of `train_model`; the end of one snapshot and the start of the next are one row.
        arms: arm and seed of each.
    """
    parts = [pl.DataFrame(schema=TRAINING_SCHEMA)]
    for path, (arm, seed) in zip(losses, arms, strict=True):
        of_job = read_table(path).with_columns(arm=pl.lit(arm), seed=pl.lit(seed, pl.Int64))
        parts.append(of_job.select(list(TRAINING_SCHEMA)))
    keys = ["arm", "seed", "step"]
    # what was measured at an end and at a start is the same where both have it
    first = pl.all().exclude(keys).drop_nulls().first()
    return pl.concat(parts).group_by(keys, maintain_order=True).agg(first).sort(keys)
