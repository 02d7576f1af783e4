"""Run a model over one shard of a variant and store the states of every layer."""

import json
from typing import Any

import torch

from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import read_table
from homogenization.states.extraction import extract
from homogenization.states.model import load_model, with_built_weights


def main(
    variant_table: str,
    weights: list[str],
    states: str,
    run: str,
    model: dict[str, Any],
    variant: str,
    shard: str,
    storage: dict[str, Any],
    record_attention: bool,
    threads: int,
    gpus: int,
) -> None:
    """Extract the states of the reviews in `variant_table`; `weights` are the model's files in the workflow."""
    torch.set_num_threads(threads)
    reviews = read_table(variant_table)
    record = extract(
        load_model(with_built_weights(model, weights), gpus),
        reviews["review_id"].to_list(),
        reviews["text"].to_list(),
        path=states,
        identity={"model": model["name"], "variant": variant, "shard": shard},
        token_budget=model["token_budget"],
        storage_dtype=storage["dtype"],
        chunk_tokens=storage["chunk_tokens"],
        record_attention=record_attention,
        layers=storage["layers"],
    )
    with written_whole(run) as partial:
        partial.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.variant,
            list(snakemake.input.get("weights", [])),
            snakemake.output.states,
            snakemake.output.run,
            snakemake.params.model,
            snakemake.params.variant,
            snakemake.params.shard,
            snakemake.params.storage,
            snakemake.params.record_attention,
            snakemake.threads,
            snakemake.resources.get("gpu", 0),
        )
