"""Singular values of every review, layer and view of one store."""

from threadpoolctl import threadpool_limits

from homogenization.measures.reviews import provenance
from homogenization.measures.spectra import spectra_table
from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store


def main(states: str, spectra: str, views: list[str]) -> None:
    """Write the table of singular values."""
    # eigenvalue solvers hardly thread: several jobs of one thread each are faster
    with threadpool_limits(1), open_store(states) as store:
        write_table(spectra_table(store, views), spectra, {"views": views, "states": provenance(store)})


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.states, snakemake.output.spectra, snakemake.params.views)
