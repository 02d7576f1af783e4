"""What a whole study takes: the tables of costs and durations, and both in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import plan_row, plan_table, plan_text
from homogenization.plan.durations import (
    CONSEQUENCES,
    INTERVENTIONS,
    durations_of_fluency,
    durations_of_model,
    durations_of_writer,
    durations_table,
    durations_text,
)
from homogenization.plan.interventions import intervention_costs, interventions_text
from homogenization.plan.training import training_costs, training_text


def plan_study(
    models: Sequence[tuple[Mapping[str, Any], Architecture, pl.DataFrame]],
    states: Mapping[str, Any],
    params: Mapping[str, Any],
    hardware: Mapping[str, float],
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The tables `plan` and `durations`, and the text for readers.

    Args:
        models: for each model its entry, its network and the token counts of its jobs
            (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: The section `states`.
        params: `pooled_variants`; by name of the model `read_again`, `interventions`, `consequences` and, of those
            that are trained, `training`; and the lists `writers` and `readers`.
        hardware: The section `hardware`.
    """
    costs, times, passes, trained, lengths = [], [], [], [], {}
    for model, network, counts in models:
        name = model["name"]
        costs.append(plan_row(model, network, counts, states, params["pooled_variants"]))
        lengths[name] = [of_shard.to_numpy() for of_shard in counts.filter(variant="original")["lengths"]]
        times += durations_of_model(model, network, counts, states, params["read_again"][name], hardware)
        for work in (INTERVENTIONS, CONSEQUENCES):
            if params[work][name]["jobs"]:
                passes.append(intervention_costs(model, network, counts, params[work][name], hardware, work))
                times.append(passes[-1])
        if name in params["training"]:
            trained.append(training_costs(model, network, params["training"][name], hardware))
    last = models[-1][0]["name"]
    times += [durations_of_writer(writer, lengths[last], hardware) for writer in params["writers"]]
    times += [
        durations_of_fluency(reader, lengths[reader["counted_by"] or last], hardware) for reader in params["readers"]
    ]
    plan, durations = plan_table(costs), durations_table(times + trained)
    text = plan_text(plan) + "\n" + durations_text(durations, hardware) + interventions_text(passes)
    return plan, durations, text + training_text(trained)
