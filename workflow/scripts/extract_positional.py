"""Run a model over one shard of a variant and sum its attention by the positions of query and key."""

from homogenization.run.job import job
from homogenization.measures.positional_pass import positional_sums
from homogenization.run.parquet import read_table, write_table
from homogenization.states.model import model_of_job
from homogenization.states.reading import Reading

with job(snakemake):
    model = model_of_job(snakemake)
    reading = Reading.of_job(model, snakemake.input, snakemake.params, record_attention=True)
    ranks = dict(read_table(snakemake.input.original).select("review_id", "rank").iter_rows())
    table, metadata = positional_sums(reading, ranks)
    write_table(table, snakemake.output.positional, metadata)
