"""Compute every metric of every analysed review from singular values, geometry and received attention."""

import polars as pl

from homogenization.run.job import job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.tables.metrics import metrics_of_job


def main(
    spectra: list[str],
    geometry: list[str],
    attention: list[str],
    similarity: str,
    table: str,
    jobs: list[list[str]],
    metrics: list[str],
) -> None:
    """Write the long table of metrics.

    `jobs` are (model, variant, shard) of `spectra`, `geometry` and `attention`; `attention` may be empty.
    """
    analysed = read_table(similarity)
    parts = []
    for (model, variant, _), spectra_path, geometry_path, attention_path in zip(
        jobs, spectra, geometry, attention or [None] * len(jobs), strict=True
    ):
        tables = [path and read_table(path) for path in (spectra_path, geometry_path, attention_path)]
        n_blocks = table_metadata(geometry_path)["states"]["n_blocks"]
        parts.append(metrics_of_job(model, variant, n_blocks, *tables, analysed, metrics))
    write_table(pl.concat(parts), table, {"metrics": metrics})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.spectra,
            snakemake.input.geometry,
            snakemake.input.attention,
            snakemake.input.similarity,
            snakemake.output.metrics,
            snakemake.params.jobs,
            snakemake.params.metrics,
        )
