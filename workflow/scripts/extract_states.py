"""Run a model over one shard of a variant and store the states of every layer."""

from homogenization.run.job import job
from homogenization.models.weights import with_built_weights
from homogenization.run.files import write_json
from homogenization.run.parquet import read_table
from homogenization.states.extraction import extract
from homogenization.states.model import load_model

with job(snakemake):
    entry, params = snakemake.params.model, snakemake.params
    reviews = read_table(snakemake.input.variant)
    record = extract(
        load_model(with_built_weights(entry, snakemake.input.get("weights", [])), snakemake.resources.get("gpu", 0)),
        reviews["review_id"].to_list(),
        reviews["text"].to_list(),
        path=snakemake.output.states,
        identity={"model": entry["name"], "variant": params.variant, "shard": params.shard},
        token_budget=entry["token_budget"],
        **params.storage,
    )
    write_json(record, snakemake.output.run)
