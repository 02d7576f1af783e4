"""Loss per word of texts of a shard under a language model."""

from homogenization.run.job import arguments, job
from homogenization.models.built import with_built_weights
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.fluency import Reader, loss_per_word

with job(snakemake):
    named = with_built_weights(snakemake.params.reader, snakemake.input.get("weights", []))
    reader = Reader(**named, gpus=snakemake.resources.get("gpu", 0))
    for variant, scored in zip(snakemake.input.variants, snakemake.output.variants, strict=True):
        write_table(loss_per_word(reader, read_table(variant)), scored, arguments(snakemake))
