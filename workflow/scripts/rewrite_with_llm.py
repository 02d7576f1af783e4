"""Let a language model write one variant of a shard's reviews."""

from functools import partial
from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_rewriting import rewrite_with_llm
from homogenization.variants.similarity import bert_scores, load_encoder
from homogenization.writers.answers import RequestStore
from homogenization.writers.backends import make_writer

with job(snakemake):
    params, resources = snakemake.params, snakemake.resources
    means = {name: resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(params.writer, snakemake.input.get("weights", []))
    writer = make_writer(params.module, entry, params.seed, gpus=resources.gpu, **means)
    store = RequestStore(Path(snakemake.output.variant).parents[2] / "requests")
    encoder = with_built_weights(params.encoder or {}, snakemake.input.get("encoder", []), key="encoder")
    score = partial(bert_scores, load_encoder(**encoder)) if encoder else None
    reviews, keyphrases = read_table(snakemake.input.shard), read_table(snakemake.input.keyphrases)
    rewritten, candidates, similarity = rewrite_with_llm(
        reviews, keyphrases, params.variant, writer, store, params.prompt, params.position, params.filters, score
    )
    metadata = {"writer": writer.identity, "prompt": params.prompt["version"]}
    metadata |= {"position": params.position, "seed": params.seed}
    write_table(candidates, snakemake.output.candidates, metadata)
    if score:
        write_table(similarity, snakemake.output.similarity, metadata | {"encoder": params.encoder})
    write_table(rewritten, snakemake.output.variant, metadata)
