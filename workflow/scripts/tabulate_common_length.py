"""Compute the metrics of every analysed review on a common number of tokens."""

import polars as pl

from homogenization.run.job import job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.tables.common_length import common_length_of_job


def main(
    spectra: list[str], geometry: list[str], similarity: str, table: str, jobs: list[list[str]], metrics: list[str]
) -> None:
    """Write the long table of metrics; `jobs` are (model, variant, shard) of `spectra` and `geometry`."""
    analysed = read_table(similarity)
    parts = []
    for (model, variant, _), *paths in zip(jobs, spectra, geometry, strict=True):
        n_blocks = table_metadata(paths[1])["states"]["n_blocks"]
        parts.append(common_length_of_job(model, variant, n_blocks, *map(read_table, paths), analysed, metrics))
    write_table(pl.concat(parts), table, {"metrics": metrics})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.spectra,
            snakemake.input.geometry,
            snakemake.input.similarity,
            snakemake.output.common,
            snakemake.params.jobs,
            snakemake.params.metrics,
        )
