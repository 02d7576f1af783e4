"""Convert a GGUF file to safetensors."""

from pathlib import Path

from homogenization.models.gguf import convert_gguf
from homogenization.run.job import job

with job(snakemake):
    convert_gguf(snakemake.params.weights, Path(snakemake.output.config).parent)
