"""Measure the states of one model, variant and shard with a module of the library: its tables, by name."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.measures.reviews import provenance
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store

with job(snakemake), open_store(snakemake.input.states) as store:
    chosen = arguments(snakemake)
    module = import_module(f"homogenization.{snakemake.params.module}")
    for name, table in module.measure(store, **chosen).items():
        write_table(table, snakemake.output[name], {"states": provenance(store), **chosen})
