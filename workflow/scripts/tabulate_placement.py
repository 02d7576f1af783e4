"""Collect where every key phrase stood and where it stands now."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.tables.similarity import placement_table


def main(variants: list[str], placement: str, jobs: list[list[str]]) -> None:
    """Write the table of placements; `jobs` are (variant, shard) of `variants`."""
    tables = [(variant, read_table(path)) for (variant, _), path in zip(jobs, variants, strict=True)]
    write_table(placement_table(tables), placement)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.variants, snakemake.output.placement, snakemake.params.jobs)
