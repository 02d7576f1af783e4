"""Run a model over one shard of a variant in one condition, and untouched, and measure what its tokens become."""

from homogenization.run.job import job
from homogenization.interventions.shard import run_shard
from homogenization.states.model import model_of_job

with job(snakemake):
    model = model_of_job(snakemake, head=True)
    run_shard(model, snakemake.input, snakemake.params, dict(snakemake.output.items()))
