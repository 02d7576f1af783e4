"""Run a model over one shard of a variant and store the states of every layer."""

import time

from homogenization.run.job import job, job_record
from homogenization.models.built import with_built_weights
from homogenization.run.files import write_json
from homogenization.run.parquet import read_table
from homogenization.run.usage import seconds_since_start
from homogenization.states.extraction import extract
from homogenization.states.long_texts import with_originals
from homogenization.states.model import load_model

with job(snakemake):
    entry, params = snakemake.params.model, snakemake.params
    seconds_starting, began = seconds_since_start(), time.perf_counter()
    reviews = with_originals(read_table(snakemake.input.variant), read_table(snakemake.input.original))
    model = load_model(with_built_weights(entry, snakemake.input.get("weights", [])), snakemake.resources.get("gpu", 0))
    before = {"seconds_starting": seconds_starting, "seconds_loading": time.perf_counter() - began}
    record = extract(
        model,
        reviews["review_id"].to_list(),
        reviews["text"].to_list(),
        path=snakemake.output.states,
        identity={"model": entry["name"], "variant": params.variant, "shard": params.shard},
        token_budget=entry["token_budget"],
        originals=reviews["original"].to_list(),
        **params.storage,
    )
    write_json(before | record | {"made_by": job_record()}, snakemake.output.run)
