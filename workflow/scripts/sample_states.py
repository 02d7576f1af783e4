"""Keep the states of a few tokens of each review."""

from homogenization.run.job import job
from homogenization.states.sample import sample_states


def main(states: str, sample: str, sample_tokens: int, seed: int) -> None:
    """Write the store of `sample_tokens` tokens of each review of the store `states`."""
    sample_states(states, sample, sample_tokens, seed)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.states,
            snakemake.output.sample,
            snakemake.params.sample_tokens,
            snakemake.params.seed,
        )
