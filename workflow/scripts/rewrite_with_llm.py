"""Let a language model write one variant of a shard's reviews."""

from pathlib import Path

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_rewriting import rewrite_with_llm
from homogenization.writers.asking import make_author

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    author = make_author(snakemake, Path(snakemake.output.variant).parents[2])
    how = {"variant": params.variant, "position": params.position, "n_candidates": params.n_candidates}
    tables = rewrite_with_llm(read_table(given.shard), read_table(given.keyphrases), author, **how)
    metadata = {"writer": author.writer.identity, "prompt": params.prompt["version"], "position": params.position}
    for table, path in zip(tables, snakemake.output, strict=True):
        write_table(table, path, {**metadata, "seed": params.seed})
