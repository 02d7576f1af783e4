"""Find the key phrases of a shard's reviews, or take those of a column."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.keyphrases import extract_keyphrases, given_keyphrases
from homogenization.variants.parsing import read_parse

with job(snakemake):
    given, chosen = snakemake.input, snakemake.params.chosen
    reviews, max_phrases = read_table(given.shard), chosen["max_phrases"]
    if chosen["scorer"] == "column":
        found = given_keyphrases(reviews, chosen["column"], max_phrases)
    else:
        found = extract_keyphrases(reviews, read_parse(given.parse), read_table(given.weights), max_phrases)
    write_table(found, snakemake.output.keyphrases, chosen)
