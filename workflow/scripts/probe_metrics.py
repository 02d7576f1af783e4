"""Try every metric on matrices whose tokens are known to be alike, compressed, or ruled by one token."""

from collections.abc import Mapping

from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.statistics.sensitivity import response_table, sensitivity_table


def main(sensitivity: str, responses: str, shape: Mapping[str, int], seed: int) -> None:
    """Write all values and, as CSV, what they say of each metric.

    `shape` has the n_tokens and width of the matrices, and in how many `seeds` each is drawn.
    """
    values = sensitivity_table(**shape, seed=seed)
    write_table(values, sensitivity)
    with written_whole(responses) as partial:
        response_table(values).write_csv(partial)


if __name__ == "__main__":
    with job(snakemake):
        main(
            sensitivity=snakemake.output.sensitivity,
            responses=snakemake.output.responses,
            shape=snakemake.params.shape,
            seed=snakemake.params.seed,
        )
