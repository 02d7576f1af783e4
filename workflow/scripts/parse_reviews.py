"""Parse a shard's reviews."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table
from homogenization.variants.parsing import parse_reviews, write_parse

with job(snakemake):
    write_parse(parse_reviews(read_table(snakemake.input.shard), **arguments(snakemake)), snakemake.output.parse)
