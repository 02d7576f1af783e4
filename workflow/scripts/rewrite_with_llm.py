"""Let a language model write one variant of a shard's reviews, whole or sentence by sentence."""

from functools import partial
from importlib import import_module
from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_rewriting import Assignment, Shard, rewrite_with_llm
from homogenization.variants.similarity import bert_scores, load_encoder
from homogenization.writers.answers import make_author

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    author = make_author(snakemake, Path(snakemake.output.variant).parents[2])
    shard = Shard(*(read_table(given[name]) for name in ("shard", "keyphrases", "parse") if given.get(name)))
    how = {"protocol": params.protocol, "gate": params.gate}
    assignment = Assignment(params.variant, author, params.position, params.filters, **how)
    module = import_module(f"homogenization.variants.by_{params.unit}")
    unit = module.make_unit(shard, assignment)
    encoder = with_built_weights(params.encoder or {}, given.get("encoder", []), key="encoder")
    tables = rewrite_with_llm(unit, partial(bert_scores, load_encoder(**encoder)) if encoder else None)
    metadata = {"writer": author.writer.identity, "prompt": params.prompt["version"], "position": params.position}
    metadata |= {"unit": params.unit, "seed": params.seed, **how}
    for name, path in snakemake.output.items():
        write_table(tables[name], path, metadata | ({"encoder": params.encoder} if name == "similarity" else {}))
