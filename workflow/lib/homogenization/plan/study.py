"""What a whole study takes: the tables of extraction and of all work, and both in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import plan_row, plan_table, plan_text
from homogenization.plan.pilot import Pace
from homogenization.plan.works import (
    CONSEQUENCES,
    INTERVENTIONS,
    POSITIONAL,
    STATES,
    intervention_work,
    shard_work,
    training_work,
    works_table,
    works_text,
)


def plan_study(
    models: Sequence[tuple[Mapping[str, Any], Architecture, pl.DataFrame]],
    states: Mapping[str, Any],
    params: Mapping[str, Any],
    paces: Mapping[tuple[str, str], Pace],
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The tables `plan` and `works`, and the text for readers.

    Args:
        models: for each model its entry, its network and the token counts of its jobs
            (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: The section `states`.
        params: `store_limit` (MB or None); `in_pass`, whether states are measured while a model reads; by name of the
            model `works` (variants by work), `interventions`, `consequences` and, of those that are trained,
            `training`.
        paces: How long jobs took in a pilot, by model and work; empty without one.
    """
    costs, works = [], []
    for model, network, counts in models:
        name = model["name"]
        costs.append(plan_row(model, network, counts, states, params["store_limit"], params["in_pass"]))
        for work, variants in params["works"][name].items():
            recorded = {STATES: states["record_attention"], POSITIONAL: True}.get(work, False)
            of_work = counts.filter(pl.col("variant").is_in(variants))
            pace = paces.get((name, work))
            works.append(shard_work(work, model, network, of_work, record_attention=recorded, pace=pace))
        for work in (INTERVENTIONS, CONSEQUENCES):
            if params[work][name]["jobs"]:
                works.append(intervention_work(work, model, network, counts, params[work][name]))
        if name in params["training"]:
            works.append(training_work(model, network, params["training"][name]))
    plan, table = plan_table(costs, params["store_limit"]), works_table(works)
    return plan, table, f"{plan_text(plan)}\n{works_text(table)}"
