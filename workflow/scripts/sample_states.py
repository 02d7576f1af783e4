"""Keep the states of a few tokens of each review."""

from homogenization.run.job import arguments, job
from homogenization.states.sample import sample_states

with job(snakemake):
    sample_states(snakemake.input.states, snakemake.output.sample, **arguments(snakemake))
