"""Count the tokens that a model will read, and describe its network, from its configuration and tokenizer alone."""

from dataclasses import asdict

from homogenization.run.job import job
from homogenization.models.built import with_built_weights
from homogenization.models.weights import resolve_configuration
from homogenization.plan.architecture import describe_architecture
from homogenization.plan.token_counts import token_counts
from homogenization.run.files import write_json
from homogenization.run.parquet import write_table

with job(snakemake):
    model, jobs = with_built_weights(snakemake.params.model, snakemake.input.get("weights", [])), snakemake.params.jobs
    folder = resolve_configuration(model["weights"])
    architecture = describe_architecture(folder)
    counts = token_counts(folder, model, jobs, list(snakemake.input.texts))
    print(f"{architecture.name}: {counts['lengths'].list.sum().sum():,} tokens in {len(jobs)} jobs")
    write_table(counts, snakemake.output.tokens)
    write_json(asdict(architecture), snakemake.output.architecture)
