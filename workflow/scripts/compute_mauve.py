"""MAUVE between consecutive layers of one store, with its split-half null."""

from threadpoolctl import threadpool_limits

from homogenization.measures.mauve import mauve_table
from homogenization.measures.reviews import provenance
from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store


def main(states: str, mauve: str, n_tokens: int | None, seeds: list[int], scale: float) -> None:
    """Write the table of MAUVE values."""
    with threadpool_limits(1), open_store(states) as store:
        table = mauve_table(store, n_tokens, seeds, scale)
        write_table(table, mauve, {"scale": scale, "states": provenance(store)})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.states,
            snakemake.output.mauve,
            snakemake.params.n_tokens,
            snakemake.params.seeds,
            snakemake.params.scale,
        )
