"""Run a model over one shard of a variant and store the states of every layer."""

from homogenization.run.job import job
from homogenization.models.network import model_of_job
from homogenization.run.files import write_json
from homogenization.states.extraction import extract
from homogenization.states.texts import Texts

with job(snakemake):
    model = model_of_job(snakemake)
    params = snakemake.params
    identity = {"model": params.model["name"], "variant": params.variant, "shard": params.shard}
    texts = Texts.of_files(snakemake.input.variant, snakemake.input.original)
    record = extract(model, texts, identity, snakemake.output.states, **params.storage)
    write_json(record, snakemake.output.run)
