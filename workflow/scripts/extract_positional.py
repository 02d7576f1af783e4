"""Run a model over one shard of a variant and sum its attention by the positions of query and key."""

from homogenization.run.job import job
from homogenization.measures.positional_pass import positional_sums
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.states.long_texts import with_originals
from homogenization.states.model import load_model

with job(snakemake):
    originals = read_table(snakemake.input.original)
    reviews = with_originals(read_table(snakemake.input.variant), originals)
    model = snakemake.params.model
    table, metadata = positional_sums(
        load_model(with_built_weights(model, snakemake.input.get("weights", [])), snakemake.resources.get("gpu", 0)),
        reviews["review_id"].to_list(),
        reviews["text"].to_list(),
        dict(originals.select("review_id", "rank").iter_rows()),
        {"model": model["name"], "variant": snakemake.params.variant, "shard": snakemake.params.shard},
        model["token_budget"],
        reviews["original"].to_list(),
    )
    write_table(table, snakemake.output.positional, metadata)
