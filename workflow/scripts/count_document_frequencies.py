"""Count in how many reviews of the whole corpus each word occurs."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.frequencies import count_document_frequencies

with job(snakemake):
    chosen = arguments(snakemake)
    texts = read_table(snakemake.input.clean)["text"].to_list()
    frequencies = count_document_frequencies(texts, **chosen)
    write_table(frequencies, snakemake.output.frequencies, {**chosen, "n_documents": len(texts)})
