"""Let a language model write one variant of a shard's reviews."""

from functools import partial
from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_rewriting import rewrite_with_llm
from homogenization.variants.similarity import bert_scores, load_encoder
from homogenization.writers.answers import make_author

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    author = make_author(snakemake, Path(snakemake.output.variant).parents[2])
    encoder = with_built_weights(params.encoder or {}, given.get("encoder", []), key="encoder")
    score = partial(bert_scores, load_encoder(**encoder)) if encoder else None
    reviews, keyphrases = read_table(given.shard), read_table(given.keyphrases)
    how = {"variant": params.variant, "position": params.position, "filters": params.filters}
    tables = rewrite_with_llm(reviews, keyphrases, author, **how, score=score)
    metadata = {"writer": author.writer.identity, "prompt": params.prompt["version"], "position": params.position}
    metadata |= {"seed": params.seed}
    for name, path in snakemake.output.items():
        write_table(tables[name], path, metadata | ({"encoder": params.encoder} if name == "similarity" else {}))
