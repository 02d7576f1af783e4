"""Clean the reviews and drop duplicates."""

from homogenization.corpus.reading import clean_reviews
from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table


def main(raw: str, clean: str) -> None:
    """Write the cleaned reviews, each once."""
    write_table(clean_reviews(read_table(raw)), clean)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.raw, snakemake.output.clean)
