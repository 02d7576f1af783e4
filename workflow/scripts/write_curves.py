"""Write the page on which every metric can be looked at, with the differences between variants."""

from homogenization.run.job import arguments, job
from homogenization.report.curves import curves_page
from homogenization.run.files import write_text
from homogenization.run.parquet import read_table

with job(snakemake):
    tables = [read_table(path) for path in snakemake.input]
    write_text(curves_page(*tables, **arguments(snakemake)), snakemake.output.page)
