"""Run a model over the few reviews that a page of the report shows, and say what each token is like at every layer."""

from homogenization.run.job import job
from homogenization.report.reading import read_examples


def load():
    """The model, with torch and transformers: four seconds, where texts are read that were not read before."""
    from homogenization.states.model import model_of_job

    return model_of_job(snakemake)


with job(snakemake):
    read_examples(load, snakemake.input, snakemake.params, snakemake.output)
