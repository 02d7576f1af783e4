"""Run a model over one shard of a variant with its attention changed, and measure its tokens after every block."""

from homogenization.run.job import job
from homogenization.interventions.shard import first_reviews, intervene_in_shard
from homogenization.models.weights import with_built_weights
from homogenization.run.parquet import read_table, read_tables
from homogenization.states.model import load_model

with job(snakemake):
    files, params, entry = snakemake.input, snakemake.params, snakemake.params.model
    built = with_built_weights(entry, files.get("weights", []))
    intervene_in_shard(
        load_model(built, snakemake.resources.get("gpu", 0), head=True),
        first_reviews(read_table(files.variant), read_table(files.original), params.n_reviews),
        {"model": entry["name"], "variant": params.variant, "shard": params.shard},
        params.interventions,
        entry["token_budget"],
        params.seed,
        params.code,
        dict(snakemake.output.items()),
        read_table(files.depth) if files.get("depth") else None,
        read_tables(files.positional) if files.get("positional") else None,
    )
