"""Compute every metric of every analysed review from singular values, geometry and received attention."""

import polars as pl

from homogenization.run.files import read_table, table_metadata, write_table
from homogenization.run.job import logged
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
    for job, spectra_path, geometry_path, attention_path in zip(
        jobs, spectra, geometry, attention or [None] * len(jobs), strict=True
    ):
        tables = [path and read_table(path) for path in (spectra_path, geometry_path, attention_path)]
        n_blocks = table_metadata(geometry_path)["states"]["n_blocks"]
        parts.append(metrics_of_job(job[0], job[1], n_blocks, *tables, analysed, metrics))
    write_table(pl.concat(parts), table, {"metrics": metrics})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.spectra,  # noqa: F821
            snakemake.input.geometry,  # noqa: F821
            snakemake.input.attention,  # noqa: F821
            snakemake.input.similarity,  # noqa: F821
            snakemake.output.metrics,  # noqa: F821
            snakemake.params.jobs,  # noqa: F821
            snakemake.params.metrics,  # noqa: F821
        )
