"""Measure the states of one model, variant and shard."""

from homogenization.run.job import job
from homogenization.measures.measure import measure
from homogenization.measures.reviews import provenance
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store

with job(snakemake), open_store(snakemake.input.states) as store:
    for name, table in measure(store, snakemake.params.views).items():
        write_table(table, snakemake.output[name], {"states": provenance(store)})
