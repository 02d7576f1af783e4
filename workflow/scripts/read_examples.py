"""Run a model over the few reviews that a page of the report shows, and say what each token is like at every layer."""

from homogenization.run.job import job
from homogenization.report.reading import read_examples
from homogenization.states.model import model_of_job

with job(snakemake):
    read_examples(model_of_job(snakemake), snakemake.input, snakemake.params, snakemake.output)
