"""Make one or several tables of the study, with the function `tabulate` of a library module."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_input, write_tables

with job(snakemake):
    module = import_module(f"homogenization.{snakemake.params.module}")
    chosen, schemas = arguments(snakemake), getattr(module, "INPUT_SCHEMAS", {})
    inputs = {name: read_input(files, schemas.get(name)) for name, files in snakemake.input.items()}
    tables = module.tabulate(**inputs, **chosen)
    write_tables(tables, snakemake.output, module.SCHEMAS, chosen)
