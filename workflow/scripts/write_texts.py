"""Write the page of a model that shows a few texts token by token, the original beside each variant."""

from homogenization.run.job import arguments, job
from homogenization.report.text_page import text_page
from homogenization.run.files import write_text
from homogenization.run.parquet import read_table

with job(snakemake):
    tables = [read_table(path) for path in snakemake.input]
    write_text(text_page(*tables, **arguments(snakemake)), snakemake.output.page)
