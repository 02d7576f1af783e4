"""Find the key phrases of a shard's reviews."""

from homogenization.run.job import arguments, job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.variants.keyphrases import extract_keyphrases
from homogenization.variants.scorers import SCORERS

with job(snakemake):
    params, counted = snakemake.params, snakemake.input.frequencies
    named = with_built_weights({"keybert": params.keybert}, snakemake.input.get("keybert", []), key="keybert")
    n_documents = table_metadata(counted)["n_documents"]
    scorer = SCORERS[params.scorer](read_table(counted), n_documents, named["keybert"])
    reviews, parse = read_table(snakemake.input.shard), read_table(snakemake.input.parse)
    found = extract_keyphrases(reviews, parse, scorer, params.max_phrases, params.ngram_range)
    write_table(found, snakemake.output.keyphrases, arguments(snakemake))
