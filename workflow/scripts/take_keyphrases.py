"""Take the key phrases of a shard's reviews from a column of the corpus."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.keyphrases import given_keyphrases

with job(snakemake):
    chosen = arguments(snakemake)
    write_table(given_keyphrases(read_table(snakemake.input.shard), **chosen), snakemake.output.keyphrases, chosen)
