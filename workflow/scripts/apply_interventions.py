"""Run a model over one shard of a variant with its attention changed, and measure its tokens after every block."""

from homogenization.run.job import job
from homogenization.interventions.shard import first_reviews, intervene_in_shard
from homogenization.models.weights import with_built_weights
from homogenization.run.parquet import read_table
from homogenization.states.long_texts import with_originals
from homogenization.states.model import load_model

with job(snakemake):
    files, params, entry = snakemake.input, snakemake.params, snakemake.params.model
    originals = read_table(files.original)
    entry_with_weights = with_built_weights(entry, files.get("weights", []))
    intervene_in_shard(
        load_model(entry_with_weights, snakemake.resources.get("gpu", 0), head=True),
        first_reviews(with_originals(read_table(files.variant), originals), originals, params.n_reviews),
        {"model": entry["name"], "variant": params.variant, "shard": params.shard},
        params.interventions,
        entry["token_budget"],
        params.seed,
        params.code,
        dict(snakemake.output.items()),
        read_table(files.depth) if files.get("depth") else None,
    )
