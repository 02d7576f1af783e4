"""Run a model over one shard of a variant and measure its tokens at every point of every block."""

from homogenization.run.job import job
from homogenization.measures.components import component_states
from homogenization.models.network import model_of_job
from homogenization.run.parquet import write_table
from homogenization.states.texts import Texts

with job(snakemake):
    params = snakemake.params
    identity = {"model": params.model["name"], "variant": params.variant, "shard": params.shard}
    texts = Texts.of_files(snakemake.input.variant, snakemake.input.original)
    table, metadata = component_states(model_of_job(snakemake), texts, identity)
    write_table(table, snakemake.output.components, metadata)
