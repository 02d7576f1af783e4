"""Read one shard of a text in every condition, and keep its pooled states, its loss and how alike its tokens are."""

from homogenization.run.job import job
from homogenization.consequences.shard import read_shard, texts_of
from homogenization.interventions.conditions import Condition
from homogenization.interventions.shard import asked_of_shard
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, read_tables
from homogenization.states.model import load_model

with job(snakemake):
    files, params, entry = snakemake.input, snakemake.params, snakemake.params.model
    built = with_built_weights(entry, files.get("weights", []))
    model = load_model(built, snakemake.resources.get("gpu", 0), head=True)
    variant = read_table(files.variant) if files.get("variant") else None
    asked = asked_of_shard(
        model,
        texts_of(params.text, variant, read_table(files.original), params.n_reviews, params.seed),
        {"model": entry["name"], "variant": params.text, "shard": params.shard},
        [Condition(*fields) for fields in params.conditions],
        params.metrics,
        entry["token_budget"],
        params.seed,
        params.code,
        read_table(files.depth) if files.get("depth") else None,
        read_tables(files.positional) if files.get("positional") else None,
    )
    read_shard(model, asked, dict(snakemake.output.items()))
