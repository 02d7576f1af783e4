"""Write the sheet of an audit."""

from homogenization.run.job import arguments, job
from homogenization.run.parquet import read_tables, write_table
from homogenization.variants.audit import SHEET_SCHEMA, sheet

with job(snakemake):
    chosen = arguments(snakemake)
    drawn = sheet(read_tables(snakemake.input.variants), **chosen)
    write_table(drawn, snakemake.output.sheet, chosen, SHEET_SCHEMA)
