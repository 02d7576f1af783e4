"""Singular values and geometry of a common number of tokens of every review of one store."""

from threadpoolctl import threadpool_limits

from homogenization.measures.common_length import DrawnTokens
from homogenization.measures.geometry import geometry_table
from homogenization.measures.reviews import provenance
from homogenization.measures.spectra import spectra_table
from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store


def main(states: str, spectra: str, geometry: str, n_tokens: int, draws: int, seed: int, views: list[str]) -> None:
    """Write the tables of singular values and of geometry, a row for each draw."""
    # as for spectra, matrices as small as these gain nothing from threads
    with threadpool_limits(1), open_store(states) as store:
        drawn = DrawnTokens(store, n_tokens, draws, seed)
        n_long_enough = len(drawn.review_ids) // draws
        print(f"{n_long_enough} of {len(store.review_ids)} reviews have at least {n_tokens} tokens", flush=True)
        made = {"n_tokens": n_tokens, "draws": draws, "seed": seed, "states": provenance(store)}
        write_table(spectra_table(drawn, views), spectra, {**made, "views": views})
        write_table(geometry_table(drawn), geometry, made)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.states,
            snakemake.output.spectra,
            snakemake.output.geometry,
            snakemake.params.n_tokens,
            snakemake.params.draws,
            snakemake.params.seed,
            snakemake.params.views,
        )
