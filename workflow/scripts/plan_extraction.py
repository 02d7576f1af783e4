"""Tabulate the estimated costs of extraction, for each model and in total."""

from homogenization.run.job import job
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import plan_row, plan_table, plan_text
from homogenization.run.files import read_json, write_csv, write_text
from homogenization.run.parquet import read_table

with job(snakemake):
    files = zip(snakemake.input.architectures, snakemake.input.tokens, strict=True)
    plan = plan_table(
        [
            plan_row(model, Architecture(**read_json(architecture)), read_table(tokens), snakemake.params.states)
            for model, (architecture, tokens) in zip(snakemake.params.models, files, strict=True)
        ]
    )
    print(plan_text(plan))
    write_csv(plan, snakemake.output.plan)
    write_text(plan_text(plan), snakemake.output.text)
