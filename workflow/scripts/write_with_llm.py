"""Let a language model write one variant of a shard's reviews, or find their key phrases."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.llm_keyphrases import extract_keyphrases_with_llm
from homogenization.variants.llm_rewriting import rewrite_with_llm
from homogenization.writers.asking import make_author

with job(snakemake):
    given, params = snakemake.input, snakemake.params
    author = make_author(snakemake)
    reviews, how = read_table(given.shard), {**params.chosen, "n_candidates": params.n_candidates}
    if "variant" in how:
        tables = rewrite_with_llm(reviews, read_table(given.keyphrases), author, **how)
    else:
        tables = [extract_keyphrases_with_llm(reviews, author, **how)]
    metadata = {"writer": author.writer.identity, "prompt": params.prompt["version"], "seed": params.seed}
    for table, path in zip(tables, snakemake.output, strict=True):
        write_table(table, path, params.chosen | metadata)
