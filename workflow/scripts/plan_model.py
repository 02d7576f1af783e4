"""What extraction will take of one model, from its configuration and tokenizer alone."""

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.models.weights import resolve_weights
from homogenization.plan.costs import plan_row
from homogenization.run.files import write_json

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    entry = with_built_weights(params.model, files.get("weights", []))
    folder = resolve_weights(entry["weights"], configuration=True).folder
    row = plan_row(folder, entry, params.states, params.jobs, list(files.texts))
    write_json(row, snakemake.output.row)
