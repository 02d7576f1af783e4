"""Run a model over the few reviews that a page of the report shows, and say what each token is like at every layer."""

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.report.reading import read_examples
from homogenization.states.model import load_model

with job(snakemake):
    built = with_built_weights(snakemake.params.model, snakemake.input.get("weights", []))
    gpus = snakemake.resources.get("gpu", 0)
    read_examples(lambda: load_model(built, gpus), snakemake.input, snakemake.params, snakemake.output)
