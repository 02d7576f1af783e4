"""Measure the states of one model, variant and shard, with a measure of the catalogue."""

from homogenization.run.job import arguments, job
from homogenization.measures.reviews import class_of, measured, provenance
from homogenization.run.parquet import write_tables
from homogenization.states.store import open_store

with job(snakemake), open_store(snakemake.input.states) as store:
    chosen = arguments(snakemake)
    measure = class_of(snakemake.params.module.removeprefix("measures."))
    metadata = {**chosen, "states": provenance(store)}
    write_tables(measured(measure(store, **chosen)), snakemake.output, measure.schemas, metadata)
