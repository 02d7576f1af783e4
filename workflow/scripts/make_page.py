"""Make a page of the report, with the function `make` of a library module."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.run.files import write_text

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    write_text(module.make(dict(snakemake.input.items()), **arguments(snakemake)), snakemake.output.page)
