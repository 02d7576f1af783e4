"""Fetch a GGUF file and keep it as it is."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.gguf_file import fetch_gguf

with job(snakemake):
    fetch_gguf(snakemake.params.weights, Path(snakemake.output.weights).parent)
