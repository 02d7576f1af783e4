"""Collect what became of the candidates of language models."""

from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import read_table, read_tables, write_table
from homogenization.tables.rewriting import candidates_table, rewriting_table


def main(shards: list[str], judged: list[str], candidates: str, rewriting: str, jobs: list[list[str]]) -> None:
    """Write all candidates and the rates by variant; `jobs` are (variant, shard) of `judged`."""
    table = candidates_table([(variant, read_table(path)) for (variant, _), path in zip(jobs, judged, strict=True)])
    rates = rewriting_table(table, read_tables(shards))
    print(rates)
    write_table(table, candidates)
    with written_whole(rewriting) as partial:
        rates.write_csv(partial)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.shards,
            snakemake.input.candidates,
            snakemake.output.candidates,
            snakemake.output.rewriting,
            snakemake.params.jobs,
        )
