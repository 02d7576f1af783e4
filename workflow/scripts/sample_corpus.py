"""Take one shard of the nested, balanced sample."""

from homogenization.corpus.reading import sample_reviews
from homogenization.run.files import read_table, write_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.clean,  # noqa: F821
            snakemake.output.shard,  # noqa: F821
            snakemake.params.seed,  # noqa: F821
            snakemake.params.start,  # noqa: F821
            snakemake.params.stop,  # noqa: F821
            snakemake.params.balance,  # noqa: F821
            snakemake.params.min_words,  # noqa: F821
            snakemake.params.max_words,  # noqa: F821
        )
