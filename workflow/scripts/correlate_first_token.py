"""Correlate singular anisotropy with the first token's norm, energy and attention, over reviews and layers."""

from threadpoolctl import threadpool_limits

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.statistics.first_token import first_token_table


def main(metrics: str, first_token: str, draws: int, confidence: float, seed: int) -> None:
    """Write the table of correlations with the first token."""
    # sums in another order, as several threads make them, round differently
    with threadpool_limits(1):
        table = first_token_table(read_table(metrics), draws, confidence, seed)
    write_table(table, first_token, {"draws": draws, "confidence": confidence, "seed": seed})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.metrics,
            snakemake.output.first_token,
            snakemake.params.draws,
            snakemake.params.confidence,
            snakemake.params.seed,
        )
