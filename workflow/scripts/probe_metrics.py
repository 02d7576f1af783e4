"""Try every metric on matrices whose tokens are known to be alike, compressed, or ruled by one token."""

from collections.abc import Mapping

from homogenization.run.files import write_table, written_whole
from homogenization.run.job import logged
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
    with logged(snakemake):  # noqa: F821
        main(
            sensitivity=snakemake.output.sensitivity,  # noqa: F821
            responses=snakemake.output.responses,  # noqa: F821
            shape=snakemake.params.shape,  # noqa: F821
            seed=snakemake.params.seed,  # noqa: F821
        )
