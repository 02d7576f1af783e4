"""Tabulate what extraction will take of all models."""

from homogenization.run.job import job
from homogenization.plan.costs import plan_table, plan_text
from homogenization.run.files import read_json, write_text
from homogenization.run.parquet import write_table

with job(snakemake):
    plan = plan_table([read_json(row) for row in snakemake.input.rows])
    write_table(plan, snakemake.output.plan)
    write_text(plan_text(plan), snakemake.output.text)
