"""Find the key phrases of a shard's reviews."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.variants.keyphrases import extract_keyphrases
from homogenization.variants.parsing import read_parse

with job(snakemake):
    given, chosen = snakemake.input, arguments(snakemake)
    weights, n_documents = read_table(given.weights), table_metadata(given.weights)["n_documents"]
    found = extract_keyphrases(read_table(given.shard), read_parse(given.parse), weights, n_documents, **chosen)
    write_table(found, snakemake.output.keyphrases, chosen)
