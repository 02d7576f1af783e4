"""Run a model over one shard of a variant and measure the states of every layer while they are at hand."""

import time

from homogenization.run.job import job, job_record
from homogenization.measures.in_pass import measure_shard
from homogenization.measures.workers import workers_beside
from homogenization.models.built import with_built_weights
from homogenization.run.files import write_json
from homogenization.run.usage import seconds_since_start
from homogenization.states.model import load_model

with job(snakemake):
    entry, began = snakemake.params.model, time.perf_counter()
    before = {"seconds_starting": seconds_since_start()}
    with workers_beside(entry["device"], snakemake.threads) as workers:
        built = with_built_weights(entry, snakemake.input.get("weights", []))
        model = load_model(built, snakemake.resources.get("gpu", 0))
        before["seconds_loading"] = time.perf_counter() - began
        record = measure_shard(model, snakemake.input, snakemake.params, dict(snakemake.output.items()), workers)
    write_json(before | record | {"made_by": job_record()}, snakemake.output.run)
