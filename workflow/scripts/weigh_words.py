"""Weigh the words of the whole corpus by the number of its reviews in which each occurs."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.keyphrases import weigh_words

with job(snakemake):
    texts = read_table(snakemake.input.clean)["text"].to_list()
    write_table(weigh_words(texts), snakemake.output.weights, {"n_documents": len(texts)})
