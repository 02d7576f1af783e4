"""Build a model with random weights, and a tokenizer trained on the corpus."""

from pathlib import Path

from homogenization.run.job import arguments, job
from homogenization.models.untrained import build_random_model
from homogenization.run.parquet import read_table

with job(snakemake):
    texts = read_table(snakemake.input.corpus)["text"].to_list()
    build_random_model(texts=texts, folder=Path(snakemake.output.config).parent, **arguments(snakemake))
