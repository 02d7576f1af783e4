"""Run a model over one shard of a variant and measure the states of every layer while they are at hand."""

import time
from importlib import import_module

from homogenization.run.job import job
from homogenization.measures.in_pass import Sample, measure_in_pass, workers_beside, write_measured
from homogenization.models.built import with_built_weights
from homogenization.run.files import write_json
from homogenization.run.parquet import read_table
from homogenization.run.usage import seconds_since_start
from homogenization.states.long_texts import with_originals
from homogenization.states.model import load_model

with job(snakemake):
    entry, params = snakemake.params.model, snakemake.params
    seconds_starting, began = seconds_since_start(), time.perf_counter()
    reviews = with_originals(read_table(snakemake.input.variant), read_table(snakemake.input.original))
    files = {name: of for name, of in snakemake.output.items() if name not in ("run", "sample")}
    modules = {name: import_module(f"homogenization.measures.{name}") for name in files}
    sample = Sample(snakemake.output.sample, *params.sample) if snakemake.output.sample else None
    with workers_beside(entry["device"], snakemake.threads) as workers:
        model = load_model(
            with_built_weights(entry, snakemake.input.get("weights", [])), snakemake.resources.get("gpu", 0)
        )
        before = {"seconds_starting": seconds_starting, "seconds_loading": time.perf_counter() - began}
        record, attributes, tables = measure_in_pass(
            model,
            reviews["review_id"].to_list(),
            reviews["text"].to_list(),
            {"model": entry["name"], "variant": params.variant, "shard": params.shard},
            entry["token_budget"],
            measures={name: (modules[name], of) for name, of in params.measures.items()},
            originals=reviews["original"].to_list(),
            sample=sample,
            workers=workers,
            **params.storage,
        )
    write_measured(files, modules, params.measures, tables, attributes)
    write_json(before | record, snakemake.output.run)
