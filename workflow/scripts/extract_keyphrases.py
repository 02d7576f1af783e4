"""Find the key phrases of a shard's reviews."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.variants.keyphrases import extract_keyphrases
from homogenization.variants.scorers import tfidf_scorer

with job(snakemake):
    chosen, counted = arguments(snakemake), snakemake.input.frequencies
    scorer = tfidf_scorer(read_table(counted), table_metadata(counted)["n_documents"])
    reviews, parse = read_table(snakemake.input.shard), read_table(snakemake.input.parse)
    write_table(extract_keyphrases(reviews, parse, scorer, **chosen), snakemake.output.keyphrases, chosen)
