"""Measure the tokens of all reviews of one model, variant and shard together."""

from homogenization.run.job import job
from homogenization.measures.pooled import pooled_table
from homogenization.measures.reviews import provenance
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store

with job(snakemake), open_store(snakemake.input.states) as store:
    write_table(pooled_table(store), snakemake.output.pooled, {"states": provenance(store)})
