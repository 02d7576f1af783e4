"""Test the paired differences between variants of every metric, model and layer."""

from threadpoolctl import threadpool_limits

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.statistics.contrasts import contrast_table


def main(
    metrics: str,
    common: str,
    table: str,
    contrasts: list[list[str]],
    names: list[str],
    draws: int,
    confidence: float,
    seed: int,
) -> None:
    """Write the table of contrasts of the metrics `names`; without a common number of tokens `common` is empty."""
    on_common_length = read_table(common) if common else None
    pairs = [(variant, minus) for variant, minus in contrasts]
    # more threads would sum in another order, and the last digits would tell how many there were
    with threadpool_limits(1):
        tested = contrast_table(read_table(metrics), on_common_length, pairs, names, draws, confidence, seed)
    write_table(tested, table, {"draws": draws, "confidence": confidence, "seed": seed})


if __name__ == "__main__":
    with job(snakemake):
        main(
            metrics=snakemake.input.metrics,
            common=snakemake.input.common,
            table=snakemake.output.contrasts,
            contrasts=snakemake.params.contrasts,
            names=snakemake.params.metrics,
            draws=snakemake.params.draws,
            confidence=snakemake.params.confidence,
            seed=snakemake.params.seed,
        )
