"""Write one variant of a shard's reviews."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.rules import rewrite_reviews

with job(snakemake):
    chosen = arguments(snakemake)
    reviews, keyphrases = read_table(snakemake.input.shard), read_table(snakemake.input.keyphrases)
    rewritten = rewrite_reviews(reviews, keyphrases, snakemake.wildcards.variant, **chosen)
    write_table(rewritten, snakemake.output.variant, chosen)
