"""Average profiles of received attention over the analysed reviews."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.tables.profiles import attention_profiles


def main(profiles: list[str], similarity: str, attention: str, jobs: list[list[str]]) -> None:
    """Write the table of attention profiles; `jobs` are (model, variant, shard) of `profiles`."""
    tables = [(model, variant, read_table(path)) for (model, variant, _), path in zip(jobs, profiles, strict=True)]
    write_table(attention_profiles(tables, read_table(similarity)), attention)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.attention,
            snakemake.input.similarity,
            snakemake.output.attention,
            snakemake.params.jobs,
        )
