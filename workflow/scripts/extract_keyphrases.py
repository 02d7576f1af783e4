"""Find the key phrases of a shard's reviews."""

from typing import Any

from homogenization.run.job import job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.variants.keyphrases import extract_keyphrases, make_scorer


def main(
    shard: str,
    frequencies: str,
    keyphrases: str,
    scorer: str,
    max_phrases: int,
    ngram_range: list[int],
    keybert: dict[str, Any] | None,
) -> None:
    """Write one row per place of a key phrase."""
    n_documents = table_metadata(frequencies)["n_documents"]
    score = make_scorer(scorer, read_table(frequencies), n_documents, keybert)
    found = extract_keyphrases(read_table(shard), score, max_phrases, tuple(ngram_range))
    write_table(found, keyphrases, {"scorer": scorer, "max_phrases": max_phrases, "ngram_range": list(ngram_range)})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.shard,
            snakemake.input.frequencies,
            snakemake.output.keyphrases,
            snakemake.params.scorer,
            snakemake.params.max_phrases,
            snakemake.params.ngram_range,
            snakemake.params.keybert,
        )
