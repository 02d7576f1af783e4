"""Run a model over one shard of a variant and measure its tokens at every point of every block."""

from typing import Any

import torch

from homogenization.measures.components import component_states
from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.states.model import load_model, with_built_weights


def main(
    variant_table: str,
    weights: list[str],
    components: str,
    model: dict[str, Any],
    variant: str,
    shard: str,
    threads: int,
    gpus: int,
) -> None:
    """Write the component states of the reviews in `variant_table`; `weights` are the model's files in the workflow."""
    torch.set_num_threads(threads)
    reviews = read_table(variant_table)
    table, metadata = component_states(
        load_model(with_built_weights(model, weights), gpus),
        reviews["review_id"].to_list(),
        reviews["text"].to_list(),
        identity={"model": model["name"], "variant": variant, "shard": shard},
        token_budget=model["token_budget"],
    )
    write_table(table, components, metadata)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.variant,
            list(snakemake.input.get("weights", [])),
            snakemake.output.components,
            snakemake.params.model,
            snakemake.params.variant,
            snakemake.params.shard,
            snakemake.threads,
            snakemake.resources.get("gpu", 0),
        )
