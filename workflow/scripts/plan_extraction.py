"""Tabulate the estimated costs of extraction, and the time of the jobs that load a model or measure states."""

from homogenization.run.job import job
from homogenization.plan.architecture import Architecture
from homogenization.plan.study import plan_study
from homogenization.run.files import read_json, write_csv, write_text
from homogenization.run.parquet import read_table

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    networks = [Architecture(**read_json(file)) for file in files.architectures]
    models = list(zip(params.models, networks, map(read_table, files.tokens), strict=True))
    plan, durations, measures, text = plan_study(models, params.states, dict(params.items()), params.hardware)
    print(text)
    write_csv(plan, snakemake.output.plan)
    write_csv(durations, snakemake.output.durations)
    write_csv(measures, snakemake.output.measures)
    write_text(text, snakemake.output.text)
