"""Run a model over one shard of a text in every condition, with the function `run_shard` of a library module."""

from importlib import import_module

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.states.model import load_model

with job(snakemake):
    params = snakemake.params
    built = with_built_weights(params.model, snakemake.input.get("weights", []))
    model = load_model(built, snakemake.resources.get("gpu", 0), head=True)
    module = import_module(f"homogenization.{params.module}")
    module.run_shard(model, snakemake.input, params, dict(snakemake.output.items()))
