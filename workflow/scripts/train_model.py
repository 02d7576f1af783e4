"""Train a model to a snapshot."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, read_tables
from homogenization.training.snapshot import train_snapshot

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    train_snapshot(
        entry=with_built_weights(params.entry, files.get("weights", [])),
        options=params.options,
        seed=params.seed,
        step=int(params.step),
        clean=read_table(files.clean),
        sampled=read_tables(files.sampled),
        folder=Path(snakemake.output.config).parent,
        before=Path(files.before[0]).parents[1] if files.before else None,
        gpus=snakemake.resources.get("gpu", 0),
    )
