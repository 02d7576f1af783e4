"""BERTScore of variants of a shard against the originals, and of unrelated reviews: the baseline."""

from homogenization.run.job import arguments, job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_against_originals, score_random_pairs

with job(snakemake):
    named = with_built_weights(snakemake.params.encoder, snakemake.input.get("encoder", []), key="encoder")
    encoder, originals = load_encoder(**named), read_table(snakemake.input.original)
    tables = score_against_originals(encoder, originals, [read_table(file) for file in snakemake.input.variants])
    for table, file in zip(tables, snakemake.output.variants, strict=True):
        write_table(table, file, arguments(snakemake))
    pairs = score_random_pairs(encoder, originals, snakemake.params.seed)
    write_table(pairs, snakemake.output.random_pairs, arguments(snakemake))
