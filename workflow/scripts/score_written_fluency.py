"""Loss per word of a shard of a variant that a language model wrote, under a language model."""

from homogenization.run.job import arguments, job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.fluency import load_reader, loss_per_word

with job(snakemake):
    named = with_built_weights(snakemake.params.reader, snakemake.input.get("weights", []))
    reader = load_reader(named, snakemake.resources.get("gpu", 0))
    scores = loss_per_word(reader, read_table(snakemake.input.variant))
    write_table(scores, snakemake.output.fluency, arguments(snakemake))
