"""Read what the source says of each review beside its text."""

from homogenization.run.job import arguments, job
from homogenization.corpus.reading import kept_columns
from homogenization.run.parquet import read_table, write_table

with job(snakemake):
    asked = arguments(snakemake)
    asked["source"] = asked.pop("hub") or snakemake.input.source[0]
    asked["without"] = [asked.pop("text_column"), asked.pop("label_column")]
    write_table(kept_columns(read_table(snakemake.input.clean), **asked), snakemake.output.columns, asked)
