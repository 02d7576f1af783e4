"""Convert a GGUF file to safetensors."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.gguf import convert_gguf

with job(snakemake):
    convert_gguf(snakemake.params.weights, Path(snakemake.output.config).parent)
