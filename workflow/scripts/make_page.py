"""Make a page of the report, with the function `make` of a library module."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.run.files import written_whole

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    page = module.make(dict(snakemake.input.items()), **arguments(snakemake))
    with written_whole(snakemake.output.page) as partial:
        partial.write_text(page, encoding="utf-8")
