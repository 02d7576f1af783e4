"""Metrics of every review of one store on a common number of tokens."""

from threadpoolctl import threadpool_limits

from homogenization.common_length import common_length_table
from homogenization.files import write_table
from homogenization.job import logged
from homogenization.points import provenance
from homogenization.store import open_store


def main(states: str, common: str, n_tokens: int, draws: int, seed: int, views: list[str], metrics: list[str]) -> None:
    """Write the table of metrics on `n_tokens` tokens of each review."""
    # as for spectra, matrices as small as these gain nothing from threads
    with threadpool_limits(1), open_store(states) as store:
        table = common_length_table(store, n_tokens, draws, seed, views, metrics)
        drawn = {"n_tokens": n_tokens, "draws": draws, "seed": seed, "views": views, "metrics": metrics}
        write_table(table, common, {**drawn, "states": provenance(store)})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.states,  # noqa: F821
            snakemake.output.common,  # noqa: F821
            snakemake.params.n_tokens,  # noqa: F821
            snakemake.params.draws,  # noqa: F821
            snakemake.params.seed,  # noqa: F821
            snakemake.params.views,  # noqa: F821
            snakemake.params.metrics,  # noqa: F821
        )
