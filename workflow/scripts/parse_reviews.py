"""Parse a shard's reviews."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.parsing import parse_reviews

with job(snakemake):
    chosen = arguments(snakemake)
    write_table(parse_reviews(read_table(snakemake.input.shard), **chosen), snakemake.output.parse, chosen)
