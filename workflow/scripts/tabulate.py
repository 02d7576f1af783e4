"""Make one or several tables of the study, with the function `tabulate` of a library module."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.run.parquet import write_tables

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    chosen = arguments(snakemake)
    write_tables(module.tabulate(snakemake.input, **chosen), snakemake.output, module.SCHEMAS, chosen)
