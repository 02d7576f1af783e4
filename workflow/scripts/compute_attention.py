"""Profiles of received attention of every review and layer of one store."""

from homogenization.files import write_table
from homogenization.job import logged
from homogenization.points import provenance
from homogenization.received_attention import attention_table
from homogenization.store import open_store


def main(states: str, attention: str, n_bins: int) -> None:
    """Write the table of received attention."""
    with open_store(states) as store:
        write_table(attention_table(store, n_bins), attention, {"n_bins": n_bins, "states": provenance(store)})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(snakemake.input.states, snakemake.output.attention, snakemake.params.n_bins)  # noqa: F821
