"""Read the corpus from the hub or from a local file, clean its reviews and drop duplicates."""

from homogenization.run.job import job
from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.reading import read_reviews
from homogenization.run.parquet import write_table

with job(snakemake):
    asked = snakemake.params.asked
    write_table(clean_reviews(read_reviews(**asked)), snakemake.output.clean, asked)
