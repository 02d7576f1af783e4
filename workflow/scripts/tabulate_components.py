"""Tabulate what each component of a block does to the anisotropies of the analysed reviews."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.tables.components import component_changes


def main(states: list[str], similarity: str, components: str, jobs: list[list[str]]) -> None:
    """Write the table of components; `jobs` are (model, variant, shard) of `states`."""
    tables = [
        (model, variant, table_metadata(path)["components"], read_table(path))
        for (model, variant, _), path in zip(jobs, states, strict=True)
    ]
    write_table(component_changes(tables, read_table(similarity)), components)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.components,
            snakemake.input.similarity,
            snakemake.output.components,
            snakemake.params.jobs,
        )
