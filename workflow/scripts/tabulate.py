"""Make tables one after the other, with functions `tabulate` of library modules, which take files by their names."""

from importlib import import_module
from inspect import signature

from homogenization.run.job import job
from homogenization.run.parquet import read_input, write_tables

with job(snakemake):
    files = dict(snakemake.input.items())
    for name, chosen in snakemake.params.tables.items():
        module = import_module(f"homogenization.{name}")
        taken, schemas = signature(module.tabulate).parameters, getattr(module, "INPUT_SCHEMAS", {})
        named = [file for file in files if file in taken or "given" in taken]
        inputs = {file: read_input(files[file], schemas.get(file)) for file in named}
        made = {table: snakemake.output[table] for table in module.SCHEMAS}
        write_tables(module.tabulate(**chosen, **inputs), list(made.values()), list(module.SCHEMAS.values()), chosen)
        files |= made
