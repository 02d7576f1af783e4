"""Slopes, rates and steepest steps of metrics over depth, with bootstrap intervals."""

from threadpoolctl import threadpool_limits

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.statistics.depth import depth_table


def main(metrics: str, depth: str, names: list[str], draws: int, confidence: float, seed: int) -> None:
    """Write the table of changes over depth of the metrics `names`."""
    # sums in another order, as several threads make them, round differently
    with threadpool_limits(1):
        table = depth_table(read_table(metrics), names, draws, confidence, seed)
    write_table(table, depth, {"draws": draws, "confidence": confidence, "seed": seed})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.metrics,
            snakemake.output.depth,
            snakemake.params.metrics,
            snakemake.params.draws,
            snakemake.params.confidence,
            snakemake.params.seed,
        )
