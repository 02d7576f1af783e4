"""Build a model with random weights, and a tokenizer trained on the corpus."""

from pathlib import Path

from homogenization.run.job import arguments, job
from homogenization.models.untrained import build_random_model
from homogenization.run.parquet import read_table, read_tables

with job(snakemake):
    corpus = read_table(snakemake.input.corpus)
    if snakemake.input.get("sampled"):
        corpus = corpus.join(read_tables(snakemake.input.sampled), on="review_id", how="anti", maintain_order="left")
    texts = corpus["text"].to_list()
    build_random_model(texts=texts, folder=Path(snakemake.output.config).parent, **arguments(snakemake))
