"""Clean the reviews and drop duplicates."""

from homogenization.corpus.reading import clean_reviews
from homogenization.run.files import read_table, write_table
from homogenization.run.job import logged


def main(raw: str, clean: str) -> None:
    """Write the cleaned reviews, each once."""
    write_table(clean_reviews(read_table(raw)), clean)


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(snakemake.input.raw, snakemake.output.clean)  # noqa: F821
