"""Collect what became of the candidates of language models."""

from homogenization.run.files import read_table, read_tables, write_table, written_whole
from homogenization.run.job import logged
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
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.shards,  # noqa: F821
            snakemake.input.candidates,  # noqa: F821
            snakemake.output.candidates,  # noqa: F821
            snakemake.output.rewriting,  # noqa: F821
            snakemake.params.jobs,  # noqa: F821
        )
