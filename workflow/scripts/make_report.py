"""Make the report: one HTML file of tables, figures and the tokens of a few texts."""

from importlib.metadata import version

from homogenization.run.job import arguments, job
from homogenization.reading.citation import provenance
from homogenization.report.report import report_page
from homogenization.run.files import write_json, write_text

with job(snakemake):
    shown = arguments(snakemake)
    origin = provenance(shown.pop("config")) | {"snakemake": version("snakemake"), "tables": shown.pop("table_names")}
    write_text(report_page(dict(snakemake.input.items()), shown, origin), snakemake.output.report)
    write_text(origin["configuration"], snakemake.output.configuration)
    write_json(origin, snakemake.output.origin)
