"""Train a model."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.network import model_of_job
from homogenization.run.parquet import read_table, read_tables
from homogenization.training.job import train_model
from homogenization.training.texts import reviews_to_train_on

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    reviews = reviews_to_train_on(read_table(files.clean), read_tables(files.sampled))
    folder = Path(snakemake.output.config).parent
    train_model(model_of_job(snakemake), params.options, params.seed, reviews, folder)
