"""Show what extraction will take of each model, from its configuration and tokenizer alone."""

import sys

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.models.weights import resolve_weights
from homogenization.plan.costs import plan_row, plan_table, plan_text

with job(snakemake):
    files, params, rows = snakemake.input, snakemake.params, []
    for model in params.models:
        entry = with_built_weights(model, files.get(f"weights of {model['name']}", []))
        folder = resolve_weights(entry["weights"], configuration=True).folder
        rows.append(plan_row(folder, entry, params.states, list(files.texts), params.estimated))
    print(plan_text(plan_table(rows)), file=sys.__stdout__)
