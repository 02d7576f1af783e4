"""Average histograms of pairwise cosines over the analysed reviews."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.tables.profiles import cosine_densities


def main(geometry: list[str], similarity: str, cosines: str, jobs: list[list[str]]) -> None:
    """Write the table of cosine densities; `jobs` are (model, variant, shard) of `geometry`."""
    tables = [
        (model, variant, table_metadata(path)["states"]["n_blocks"], read_table(path))
        for (model, variant, _), path in zip(jobs, geometry, strict=True)
    ]
    write_table(cosine_densities(tables, read_table(similarity)), cosines)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.geometry,
            snakemake.input.similarity,
            snakemake.output.cosines,
            snakemake.params.jobs,
        )
