"""MAUVE between consecutive layers of one store, with its split-half null."""

from threadpoolctl import threadpool_limits

from homogenization.measures.mauve import mauve_table
from homogenization.measures.reviews import provenance
from homogenization.run.files import write_table
from homogenization.run.job import logged
from homogenization.states.store import open_store


def main(states: str, mauve: str, n_tokens: int | None, seeds: list[int], scale: float) -> None:
    """Write the table of MAUVE values."""
    with threadpool_limits(1), open_store(states) as store:
        table = mauve_table(store, n_tokens, seeds, scale)
        write_table(table, mauve, {"scale": scale, "states": provenance(store)})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.states,  # noqa: F821
            snakemake.output.mauve,  # noqa: F821
            snakemake.params.n_tokens,  # noqa: F821
            snakemake.params.seeds,  # noqa: F821
            snakemake.params.scale,  # noqa: F821
        )
