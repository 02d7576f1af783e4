"""Test the paired differences between variants of every metric, model and layer."""

from threadpoolctl import threadpool_limits

from homogenization.run.files import read_table, write_table
from homogenization.run.job import logged
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
    with logged(snakemake):  # noqa: F821
        main(
            metrics=snakemake.input.metrics,  # noqa: F821
            common=snakemake.input.common,  # noqa: F821
            table=snakemake.output.contrasts,  # noqa: F821
            contrasts=snakemake.params.contrasts,  # noqa: F821
            names=snakemake.params.metrics,  # noqa: F821
            draws=snakemake.params.draws,  # noqa: F821
            confidence=snakemake.params.confidence,  # noqa: F821
            seed=snakemake.params.seed,  # noqa: F821
        )
