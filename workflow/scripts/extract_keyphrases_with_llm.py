"""Let a language model find the key phrases of a shard's reviews."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_keyphrases import extract_keyphrases_with_llm
from homogenization.writers.answers import Author, RequestStore
from homogenization.writers.backends import make_writer

with job(snakemake):
    params, resources = snakemake.params, snakemake.resources
    means = {name: resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(params.writer, snakemake.input.get("weights", []))
    writer = make_writer(params.module, entry, params.seed, gpus=resources.gpu, **means)
    store = RequestStore(Path(snakemake.output.keyphrases).parents[1] / "requests")
    reviews = read_table(snakemake.input.shard)
    limits = {"max_phrases": params.max_phrases, "ngram_range": params.ngram_range}
    author = Author(writer, store, params.prompt)
    found = extract_keyphrases_with_llm(reviews, author, **limits, n_candidates=params.candidates)
    metadata = {"writer": writer.identity, "prompt": params.prompt["version"], "seed": params.seed}
    write_table(found, snakemake.output.keyphrases, {"scorer": "llm", **limits, **metadata})
