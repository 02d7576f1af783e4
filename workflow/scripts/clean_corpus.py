"""Clean the reviews and drop duplicates."""

from homogenization.run.job import job
from homogenization.corpus.cleaning import clean_reviews
from homogenization.run.parquet import read_table, write_table

with job(snakemake):
    raw = read_table(snakemake.input.raw)
    write_table(clean_reviews(raw), snakemake.output.clean, {"rows_of_source": len(raw)})
