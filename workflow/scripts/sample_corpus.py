"""Take one shard of the nested, balanced sample."""

from homogenization.run.job import arguments, job
from homogenization.corpus.sampling import sample_reviews
from homogenization.run.parquet import read_table, write_table

with job(snakemake):
    chosen = arguments(snakemake)
    write_table(sample_reviews(read_table(snakemake.input.clean), **chosen), snakemake.output.shard, chosen)
