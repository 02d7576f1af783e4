"""Measure the states of one model, variant and shard, with the function `measure` of a library module."""

from importlib import import_module

from homogenization.run.job import arguments, job
from homogenization.measures.reviews import provenance
from homogenization.run.parquet import write_tables
from homogenization.states.store import open_store

with job(snakemake), open_store(snakemake.input.states) as store:
    module = import_module(f"homogenization.{snakemake.params.module}")
    chosen = arguments(snakemake)
    made_by = {**chosen, "states": provenance(store)}
    write_tables(module.measure(store, **chosen), snakemake.output, module.SCHEMAS, made_by)
