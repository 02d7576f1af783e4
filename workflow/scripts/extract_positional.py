"""Run a model over one shard of a variant and sum its attention by the positions of query and key."""

from homogenization.run.job import job
from homogenization.measures.positional_pass import positional_sums
from homogenization.run.parquet import read_table, write_table
from homogenization.states.reading import reading_of_job

with job(snakemake):
    gpus = snakemake.resources.get("gpu", 0)
    reading = reading_of_job(snakemake.input, snakemake.params, gpus, record_attention=True)
    ranks = dict(read_table(snakemake.input.original).select("review_id", "rank").iter_rows())
    table, metadata = positional_sums(reading, ranks)
    write_table(table, snakemake.output.positional, metadata)
