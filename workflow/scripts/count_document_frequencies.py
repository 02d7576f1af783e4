"""Count in how many reviews of the whole corpus each candidate phrase occurs."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.keyphrases import count_document_frequencies


def main(clean: str, frequencies: str, ngram_range: list[int], min_document_frequency: int) -> None:
    """Write the document frequencies, with the number of reviews in the file's metadata."""
    texts = read_table(clean)["text"].to_list()
    table = count_document_frequencies(texts, tuple(ngram_range), min_document_frequency)
    write_table(table, frequencies, {"n_documents": len(texts), "ngram_range": list(ngram_range)})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.clean,
            snakemake.output.frequencies,
            snakemake.params.ngram_range,
            snakemake.params.min_document_frequency,
        )
