"""Write one variant of a shard's reviews."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.rules import rewrite_reviews

with job(snakemake):
    reviews, keyphrases = read_table(snakemake.input.shard), read_table(snakemake.input.keyphrases)
    parse = read_table(snakemake.input.parse) if snakemake.input.parse else None
    variant, chosen, seed = snakemake.wildcards.variant, snakemake.params.chosen, snakemake.params.seed
    rewritten = rewrite_reviews(reviews, keyphrases, parse, variant, seed=seed, **chosen)
    write_table(rewritten, snakemake.output.variant, chosen)
