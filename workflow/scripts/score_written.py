"""BERTScore of a shard of a variant that a language model wrote, against the originals."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_against_originals

with job(snakemake):
    encoder = load_encoder(**snakemake.params.encoder)
    originals, variant = read_table(snakemake.input.original), read_table(snakemake.input.variant)
    scores = score_against_originals(encoder, originals, variant)
    write_table(scores, snakemake.output.similarity, arguments(snakemake))
