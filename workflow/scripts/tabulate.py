"""Make tables one after the other, with functions `tabulate` of library modules, which take files by their names."""

from importlib import import_module
from inspect import signature

from homogenization.run.job import job
from homogenization.run.parquet import read_input, write_table

with job(snakemake):
    files = dict(snakemake.input.items())
    for name, chosen in snakemake.params.tables.items():
        module = import_module(f"homogenization.{name}")
        if not any(snakemake.output.get(table) for table in module.SCHEMAS):
            continue  # the study does not have it
        taken = signature(module.tabulate).parameters
        inputs = {file: read_input(files[file]) for file in files if file in taken or "given" in taken}
        tables = module.tabulate(**chosen, **inputs)
        tables = [tables] if len(module.SCHEMAS) == 1 else tables
        for (table, schema), content in zip(module.SCHEMAS.items(), tables, strict=True):
            files[table] = snakemake.output[table]
            write_table(content, files[table], chosen, schema)
