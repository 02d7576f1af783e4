"""Let a language model find the key phrases of a shard's reviews."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_keyphrases import extract_keyphrases_with_llm
from homogenization.writers.asking import make_author

with job(snakemake):
    params = snakemake.params
    author = make_author(snakemake, Path(snakemake.output.keyphrases).parents[1])
    reviews = read_table(snakemake.input.shard)
    found = extract_keyphrases_with_llm(reviews, author, params.max_phrases, params.n_candidates)
    metadata = {"writer": author.writer.identity, "prompt": params.prompt["version"], "seed": params.seed}
    write_table(found, snakemake.output.keyphrases, {"scorer": "llm", "max_phrases": params.max_phrases, **metadata})
