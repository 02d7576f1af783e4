"""Train a model."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, read_tables
from homogenization.training.job import train_model

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    train_model(
        entry=with_built_weights(params.entry, files.get("weights", [])),
        options=params.options,
        seed=params.seed,
        clean=read_table(files.clean),
        sampled=read_tables(files.sampled),
        folder=Path(snakemake.output.config).parent,
        gpus=snakemake.resources.get("gpu", 0),
    )
