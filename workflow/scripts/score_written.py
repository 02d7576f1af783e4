"""BERTScore of a shard of a variant that a language model wrote, against the originals."""

from homogenization.models.weights import with_built_weights
from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_against_originals

with job(snakemake):
<<<<<<< HEAD:workflow/scripts/score_written.py
    encoder = load_encoder(**snakemake.params.encoder)
    originals, variant = read_table(snakemake.input.original), read_table(snakemake.input.variant)
    scores = score_against_originals(encoder, originals, variant)
=======
    named = with_built_weights(snakemake.params.encoder, snakemake.input.get("encoder", []), key="encoder")
    encoder = load_encoder(**named)
    scores = score_random_pairs(encoder, read_table(snakemake.input.original), snakemake.params.seed)
>>>>>>> refs/heads/gguf:workflow/scripts/score_random_pairs.py
    write_table(scores, snakemake.output.similarity, arguments(snakemake))
