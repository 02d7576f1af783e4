"""Tabulate the estimated costs of extraction and the work of all jobs that run a model, with the hours of a pilot."""

from homogenization.run.job import job
from homogenization.plan.architecture import Architecture
from homogenization.plan.works import paces_of, plan_study
from homogenization.run.files import read_json, write_csv, write_text
from homogenization.run.parquet import read_table

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    networks = [Architecture(**read_json(file)) for file in files.architectures]
    models = list(zip(params.models, networks, map(read_table, files.tokens), strict=True))
    paces = paces_of(params.timed, list(files.records), list(files.benchmarks))
    plan, works, text = plan_study(models, dict(params.items()), paces)
    print(text)
    write_csv(plan, snakemake.output.plan)
    write_csv(works, snakemake.output.works)
    write_text(text, snakemake.output.text)
