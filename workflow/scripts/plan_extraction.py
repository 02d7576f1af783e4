"""Tabulate what extraction will take."""

from homogenization.run.job import job
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import plan_row, plan_table, plan_text
from homogenization.run.files import read_json, write_text
from homogenization.run.parquet import read_table, write_table

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    models = zip(params.models, files.architectures, files.tokens, strict=True)
    plan = plan_table(
        [
            plan_row(model, Architecture(**read_json(network)), read_table(tokens), params.states)
            for model, network, tokens in models
        ]
    )
    print(plan_text(plan))
    write_table(plan, snakemake.output.plan)
    write_text(plan_text(plan), snakemake.output.text)
