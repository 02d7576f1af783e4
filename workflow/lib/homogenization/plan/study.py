"""What a whole study takes: the tables of costs and durations, and both in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import TOTAL, plan_row, plan_table, plan_text
from homogenization.plan.durations import (
    CONSEQUENCES,
    INTERVENTIONS,
    durations_of_fluency,
    durations_of_model,
    durations_of_similarity,
    durations_of_writer,
    durations_table,
    durations_text,
)
from homogenization.plan.interventions import intervention_costs, interventions_text
from homogenization.plan.measures import measures_of_model, measures_table, measures_text
from homogenization.plan.text import duration
from homogenization.plan.training import training_costs, training_text


def plan_study(
    models: Sequence[tuple[Mapping[str, Any], Architecture, pl.DataFrame]],
    states: Mapping[str, Any],
    params: Mapping[str, Any],
    hardware: Mapping[str, float],
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, str]:
    """The tables `plan`, `durations` and `measures`, and the text for readers.

    Args:
        models: for each model its entry, its network and the token counts of its jobs
            (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: The section `states`.
        params: `measured` (`homogenization.plan.measures.measures_of_model`); `store_limit` (MB or None); `in_pass`,
            whether states are measured while a model reads; by name of
            the model `read_again`, `interventions`, `consequences` and, of those that are trained, `training`; and the
            lists `writers`, `encoders` (of `similarity`) and `readers` (of `fluency`).
        hardware: The section `hardware`.
    """
    costs, times, measured, passes, trained, lengths = [], [], [], [], [], {}
    store_limit, in_pass = params["store_limit"], params["measured"] if params["in_pass"] else None
    for model, network, counts in models:
        name = model["name"]
        costs.append(plan_row(model, network, counts, states, store_limit, params["in_pass"]))
        measured += measures_of_model(model, network, counts, states, params["measured"], hardware)
        lengths[name] = [of_shard.to_numpy() for of_shard in counts.filter(variant="original")["lengths"]]
        times += durations_of_model(model, network, counts, states, params["read_again"][name], hardware, in_pass)
        for work in (INTERVENTIONS, CONSEQUENCES):
            if params[work][name]["jobs"]:
                passes.append(intervention_costs(model, network, counts, params[work][name], hardware, work))
                times.append(passes[-1])
        if name in params["training"]:
            trained.append(training_costs(model, network, params["training"][name], hardware))
    last = models[-1][0]["name"]
    times += [durations_of_writer(writer, lengths[last], hardware) for writer in params["writers"]]
    times += [durations_of_similarity(encoder, lengths[last], hardware) for encoder in params["encoders"]]
    times += [
        durations_of_fluency(reader, lengths[reader["counted_by"] or last], hardware) for reader in params["readers"]
    ]
    plan, durations = plan_table(costs, store_limit), durations_table(times + trained)
    measures = measures_table(measured)
    parts = [
        plan_text(plan),
        "\n",
        durations_text(durations, hardware),
        interventions_text(passes),
        training_text(trained),
        "\n",
        measures_text(measures, hardware),
        _end_to_end(durations, None if in_pass else measures, hardware),
    ]
    return plan, durations, measures, "".join(parts)


def _end_to_end(durations: pl.DataFrame, measures: pl.DataFrame | None, hardware: Mapping[str, float]) -> str:
    """How long the study takes on one machine, in words: its GPU and its cores work side by side.

    Jobs on a GPU take turns, and so do the waits for an endpoint. Those on the CPU share the cores with the measures.
    The last store is measured when its model has run. Without `measures`, states are measured in the jobs of models.
    """
    jobs, cores = durations.filter(pl.col("work") != TOTAL), hardware["cores"]
    on_cores = (pl.col("gpus_per_job") == 0) & (pl.col("loads") > 0)
    turns = jobs.filter(~on_cores)["seconds_total"].sum()
    measuring, last = (0.0, 0.0) if measures is None else measures.select("core_hours", "longest_seconds").row(-1)
    work = 3600 * measuring + jobs.filter(on_cores)["seconds_total"].sum()
    return (
        f"on one machine, with a GPU for jobs that need one and {cores} cores: "
        f"{duration(max(turns, work / cores) + last)}. Its GPU and writers behind endpoints work {duration(turns)}, "
        f"a core {duration(work / cores)}, and the longest measure takes {duration(last)}\n"
    )
