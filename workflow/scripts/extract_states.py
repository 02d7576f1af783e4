"""Run a model over one shard of a variant and store the states of every layer."""

import time

from homogenization.run.job import job, job_record
from homogenization.run.files import write_json
from homogenization.run.usage import seconds_since_start
from homogenization.states.extraction import extract
from homogenization.states.model import model_of_job
from homogenization.states.reading import Reading

with job(snakemake):
    seconds_starting, began = seconds_since_start(), time.perf_counter()
    model = model_of_job(snakemake)
    before = {"seconds_starting": seconds_starting, "seconds_loading": time.perf_counter() - began}
    options = dict(snakemake.params.storage)
    chunk_tokens = options.pop("chunk_tokens")
    reading = Reading.of_job(model, snakemake.input, snakemake.params, **options)
    record = extract(reading, snakemake.output.states, chunk_tokens)
    write_json(before | record | {"made_by": job_record()}, snakemake.output.run)
