"""Run a model over one shard of a variant and measure the states of every layer while they are at hand."""

import time

from homogenization.run.job import job
from homogenization.measures.in_pass import measure_shard
from homogenization.measures.workers import workers_beside
from homogenization.run.files import write_json
from homogenization.states.model import model_of_job

with job(snakemake):
    began = time.perf_counter()
    before = {}
    with workers_beside(snakemake.params.model["device"], snakemake.threads) as workers:
        model = model_of_job(snakemake)
        before["seconds_loading"] = time.perf_counter() - began
        record = measure_shard(model, snakemake.input, snakemake.params, dict(snakemake.output.items()), workers)
    write_json(before | record, snakemake.output.run)
