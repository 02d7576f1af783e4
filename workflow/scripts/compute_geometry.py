"""Norms, directions and cosines of the tokens of every review and layer of one store."""

from threadpoolctl import threadpool_limits

from homogenization.measures.geometry import geometry_table
from homogenization.measures.reviews import provenance
from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store


def main(states: str, geometry: str, n_bins: int) -> None:
    """Write the table of token geometry."""
    with threadpool_limits(1), open_store(states) as store:
        write_table(geometry_table(store, n_bins), geometry, {"n_bins": n_bins, "states": provenance(store)})


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.states, snakemake.output.geometry, snakemake.params.n_bins)
