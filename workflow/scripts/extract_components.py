"""Run a model over one shard of a variant and measure its tokens at every point of every block."""

from homogenization.run.job import job
from homogenization.measures.components import component_states
from homogenization.measures.workers import workers_beside
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.states.long_texts import with_originals
from homogenization.states.model import load_model

with job(snakemake):
    reviews = with_originals(read_table(snakemake.input.variant), read_table(snakemake.input.original))
    model = snakemake.params.model
    identity = {"model": model["name"], "variant": snakemake.params.variant, "shard": snakemake.params.shard}
    with workers_beside(model["device"], snakemake.threads) as workers:
        built = with_built_weights(model, snakemake.input.get("weights", []))
        table, metadata = component_states(
            load_model(built, snakemake.resources.get("gpu", 0)),
            reviews["review_id"].to_list(),
            reviews["text"].to_list(),
            identity,
            model["token_budget"],
            reviews["original"].to_list(),
            workers,
        )
    write_table(table, snakemake.output.components, metadata)
