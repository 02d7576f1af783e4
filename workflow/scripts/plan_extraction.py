"""Tabulate the estimated costs of extraction, and the time of the jobs that load a model."""

from homogenization.run.job import job
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import plan_row, plan_table, plan_text
from homogenization.plan.durations import (
    durations_of_fluency,
    durations_of_model,
    durations_of_writer,
    durations_table,
    durations_text,
)
from homogenization.plan.interventions import intervention_costs, interventions_text
from homogenization.plan.training import training_costs, training_text
from homogenization.run.files import read_json, write_csv, write_text
from homogenization.run.parquet import read_table

with job(snakemake):
    params, states, hardware = snakemake.params, snakemake.params.states, snakemake.params.hardware
    costs, times, passes, trained, shards = [], [], [], [], {}
    for model, architecture, tokens in zip(
        params.models, snakemake.input.architectures, snakemake.input.tokens, strict=True
    ):
        network, counts = Architecture(**read_json(architecture)), read_table(tokens)
        costs.append(plan_row(model, network, counts, states, params.pooled_variants))
        shards[model["name"]] = [lengths.to_numpy() for lengths in counts.filter(variant="original")["lengths"]]
        read_again = params.read_again[model["name"]]
        times += durations_of_model(model, network, counts, states, read_again, hardware)
        for work in ("interventions", "consequences"):
            changed = intervention_costs(model, network, counts, params[work][model["name"]], hardware, work)
            if changed is not None:
                times.append(changed[0])
                passes.append(changed[1])
        if model["name"] in params.training:
            trained.append(training_costs(model, network, params.training[model["name"]], hardware))
    last = params.models[-1]["name"]
    times += [durations_of_writer(writer, shards[last], hardware) for writer in params.writers]
    times += [durations_of_fluency(reader, shards[reader["counted_by"] or last], hardware) for reader in params.readers]
    plan, durations = plan_table(costs), durations_table(times + [row for row, _ in trained])
    text = plan_text(plan) + "\n" + durations_text(durations, hardware) + interventions_text(passes)
    text += training_text([counts for _, counts in trained])
    print(text)
    write_csv(plan, snakemake.output.plan)
    write_csv(durations, snakemake.output.durations)
    write_text(text, snakemake.output.text)
