"""Collect MAUVE between layers over shards and seeds."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.tables.mauve import mauve_summary


def main(values: list[str], mauve: str, jobs: list[list[str]]) -> None:
    """Write the mean and range of MAUVE; `jobs` are (model, variant, shard) of `values`."""
    tables = [
        (model, variant, table_metadata(path)["states"]["n_blocks"], read_table(path))
        for (model, variant, _), path in zip(jobs, values, strict=True)
    ]
    write_table(mauve_summary(tables), mauve)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.mauve, snakemake.output.mauve, snakemake.params.jobs)
