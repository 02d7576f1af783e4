"""Take one shard of the nested, balanced sample."""

from homogenization.corpus.reading import sample_reviews
from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table


def main(
    clean: str,
    shard: str,
    seed: int,
    start: int,
    stop: int,
    balance: bool,
    min_words: int | None,
    max_words: int | None,
) -> None:
    """Write the reviews of the ranks start to stop - 1."""
    sample = sample_reviews(read_table(clean), seed, start, stop, balance, min_words, max_words)
    write_table(sample, shard, {"seed": seed, "balance": balance, "min_words": min_words, "max_words": max_words})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.clean,
            snakemake.output.shard,
            snakemake.params.seed,
            snakemake.params.start,
            snakemake.params.stop,
            snakemake.params.balance,
            snakemake.params.min_words,
            snakemake.params.max_words,
        )
