"""Copy the files of a model to where jobs on other machines read them."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.saving import carry_weights

with job(snakemake):
    carry_weights(snakemake.params.weights, snakemake.input.files, Path(snakemake.output.files[0]).parent)
