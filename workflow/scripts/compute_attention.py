"""Profiles of received attention of every review and layer of one store."""

from homogenization.measures.attention import attention_table
from homogenization.measures.reviews import provenance
from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store


def main(states: str, attention: str, n_bins: int) -> None:
    """Write the table of received attention."""
    with open_store(states) as store:
        write_table(attention_table(store, n_bins), attention, {"n_bins": n_bins, "states": provenance(store)})


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.states, snakemake.output.attention, snakemake.params.n_bins)
