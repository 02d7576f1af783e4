"""Run a model over one shard of a variant in one condition, and untouched, and measure what its tokens become."""

from homogenization.run.job import job
from homogenization.interventions.intervened import run_shard
from homogenization.models.network import model_of_job

with job(snakemake):
    model = model_of_job(snakemake)
    run_shard(model, snakemake.input, snakemake.params, dict(snakemake.output.items()))
