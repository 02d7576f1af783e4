"""Run a model over one shard of a variant with its attention changed, and measure its tokens after every block."""

from homogenization.run.job import job
from homogenization.interventions.conditions import conditions_of
from homogenization.interventions.shard import asked_of_shard, first_reviews, intervene_in_shard
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, read_tables
from homogenization.states.model import load_model

with job(snakemake):
    files, params, entry, chosen = (
        snakemake.input,
        snakemake.params,
        snakemake.params.model,
        snakemake.params.interventions,
    )
    built = with_built_weights(entry, files.get("weights", []))
    model = load_model(built, snakemake.resources.get("gpu", 0), head=True)
    asked = asked_of_shard(
        model,
        first_reviews(read_table(files.variant), read_table(files.original), params.n_reviews),
        {"model": entry["name"], "variant": params.variant, "shard": params.shard},
        conditions_of(chosen),
        chosen["metrics"],
        entry["token_budget"],
        params.seed,
        params.code,
        read_table(files.depth) if files.get("depth") else None,
        read_tables(files.positional) if files.get("positional") else None,
    )
    intervene_in_shard(model, asked, chosen["slopes"], dict(snakemake.output.items()))
