"""Let a language model write one variant of a shard's reviews, whole or sentence by sentence."""

from functools import partial
from importlib import import_module
from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_rewriting import Assignment, Shard, rewrite_with_llm
from homogenization.variants.similarity import bert_scores, load_encoder
from homogenization.writers.answers import Author, RequestStore
from homogenization.writers.backends import make_writer

with job(snakemake):
    given, params, resources = snakemake.input, snakemake.params, snakemake.resources
    means = {name: resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(params.writer, given.get("weights", []))
    writer = make_writer(params.module, entry, params.seed, gpus=resources.gpu, **means)
    store = RequestStore(Path(snakemake.output.variant).parents[2] / "requests")
    shard = Shard(*(read_table(given[name]) for name in ("shard", "keyphrases", "parse") if given.get(name)))
    assignment = Assignment(params.variant, Author(writer, store, params.prompt), params.position, params.filters)
    reader = params.reader and with_built_weights(params.reader, given.get("reader", []))
    module = import_module(f"homogenization.variants.by_{params.unit}")
    unit = module.make_unit(shard, assignment, reader=reader, gpus=resources.gpu)
    encoder = with_built_weights(params.encoder or {}, given.get("encoder", []), key="encoder")
    tables = rewrite_with_llm(unit, partial(bert_scores, load_encoder(**encoder)) if encoder else None)
    metadata = {"writer": writer.identity, "prompt": params.prompt["version"], "position": params.position}
    metadata |= {"unit": params.unit, "seed": params.seed}
    for name, path in snakemake.output.items():
        write_table(tables[name], path, metadata | ({"encoder": params.encoder} if name == "similarity" else {}))
