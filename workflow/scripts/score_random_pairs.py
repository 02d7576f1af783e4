"""BERTScore of a shard's reviews against unrelated ones: the baseline."""

from homogenization.models.weights import with_built_weights
from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_random_pairs

with job(snakemake):
    named = with_built_weights(snakemake.params.encoder, snakemake.input.get("encoder", []), key="encoder")
    encoder = load_encoder(**named)
    scores = score_random_pairs(encoder, read_table(snakemake.input.original), snakemake.params.seed)
    write_table(scores, snakemake.output.similarity, arguments(snakemake))
