"""Run a model over one shard of a variant and store the states of every layer."""

import time

from homogenization.run.job import job
from homogenization.run.files import write_json
from homogenization.states.extraction import extract
from homogenization.states.model import model_of_job
from homogenization.states.reading import Reading

with job(snakemake):
    began = time.perf_counter()
    model = model_of_job(snakemake)
    before = {"seconds_loading": time.perf_counter() - began}
    reading = Reading.of_job(model, snakemake.input, snakemake.params, **snakemake.params.storage)
    record = extract(reading, snakemake.output.states)
    write_json(before | record, snakemake.output.run)
