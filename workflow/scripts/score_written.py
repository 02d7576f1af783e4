"""BERTScore of a shard of a variant that a language model wrote, against the originals."""

from homogenization.run.job import arguments, job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_against_originals

with job(snakemake):
    named = with_built_weights(snakemake.params.encoder, snakemake.input.get("encoder", []), key="encoder")
    originals, variant = read_table(snakemake.input.original), read_table(snakemake.input.variant)
    scores = score_against_originals(load_encoder(**named), originals, variant)
    write_table(scores, snakemake.output.similarity, arguments(snakemake))
