"""Make one or several tables of the study, with the function `tabulate` of a library module."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_inputs, write_tables

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    chosen = arguments(snakemake)
    tables = module.tabulate(**read_inputs(snakemake.input), **chosen)
    write_tables(tables, snakemake.output, module.SCHEMAS, chosen)
