"""Write one variant of a shard's reviews."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.parsing import read_parse
from homogenization.variants.rules import rewrite_reviews

with job(snakemake):
    given, chosen, variant = snakemake.input, snakemake.params.chosen, snakemake.wildcards.variant
    keyphrases = read_table(given.keyphrases) if given.keyphrases else None
    parse = read_parse(given.parse) if given.parse else None
    reviews = read_table(given.shard)
    rewritten = rewrite_reviews(reviews, keyphrases, parse, variant, seed=snakemake.params.seed, **chosen)
    write_table(rewritten, snakemake.output.variant, chosen)
