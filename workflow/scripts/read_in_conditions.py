"""Run a model over one shard of a text in every condition, with the function `run_shard` of a library module."""

from importlib import import_module

from homogenization.run.job import job
from homogenization.states.model import model_of_job

with job(snakemake):
    params = snakemake.params
    model = model_of_job(snakemake, head=True)
    module = import_module(f"homogenization.{params.module}")
    module.run_shard(model, snakemake.input, params, dict(snakemake.output.items()))
