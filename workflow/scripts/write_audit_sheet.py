"""Write the sheet of an audit, and its page."""

from homogenization.run.job import arguments, job
from homogenization.report.audit_page import audit_page
from homogenization.run.files import write_text
from homogenization.run.parquet import read_tables, write_tables
from homogenization.variants.audit import SHEET_SCHEMA, sheet

with job(snakemake):
    chosen = arguments(snakemake)
    template = chosen.pop("template")
    drawn = sheet(read_tables(snakemake.input.variants), **chosen)
    write_tables(drawn, [snakemake.output.sheet], [SHEET_SCHEMA], chosen)
    write_text(audit_page(drawn, template), snakemake.output.page)
