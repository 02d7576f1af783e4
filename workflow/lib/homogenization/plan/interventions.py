"""The costs of interventions: conditions, passes, operations and time, from token counts and architectures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import INTERVENTIONS, row_of_jobs
from homogenization.plan.text import aligned, duration, three_digits

_FLOAT64 = 2  # times the seconds of an operation in float32


def intervention_costs(
    model: Mapping[str, Any],
    architecture: Architecture,
    token_counts: pl.DataFrame,
    asked: Mapping[str, Any],
    hardware: Mapping[str, float],
    work: str = INTERVENTIONS,
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What the interventions in one model take, or its reading for consequences; None where there are none.

    A condition is a forward pass over each review, with the head of a causal model. Slopes are one forward pass in
    float64, and a backward pass for each pair of view and metric, which takes as many operations as a forward one,
    since no parameter has a gradient. Massive keys are closed in at least one pass. What is measured between the
    passes is left out.

    Args:
        model: `name`, `dtype`, `device` and `gpus` of the model.
        architecture: The model's network.
        token_counts: Token counts of the model's jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        asked: `jobs` (variant whose tokens are counted, shard, number of reviews, number of conditions), `conditions`
            (those of the model) and `backward` (passes of a review).
        hardware: The section `hardware`.
        work: What the table and the text call it.

    Returns:
        The row in the table `durations`, and the counts for the text: work, model, conditions, reviews, forward,
        backward, petaflops, seconds.
    """
    backward = asked["backward"]
    jobs, operations, n_reviews, forward = [], 0.0, 0, 0
    rate = 1e12 * hardware["cpu_tflops" if model["device"] == "cpu" else "gpu_tflops"]
    for variant, shard, number, n_conditions in asked["jobs"]:
        counts = token_counts.filter(variant=variant, shard=shard)
        lengths = np.concatenate([of_job.to_numpy()[:number] for of_job in counts["lengths"]])
        once = matrix_operations(architecture, lengths, True)
        head = 2 * architecture.n_logits * int(lengths.sum()) if architecture.causal else 0
        plain, in_float64 = n_conditions * (once + head), (1 + backward) * once if backward else 0
        jobs.append(((plain + _FLOAT64 * in_float64) / rate, 0))
        operations += plain + in_float64
        n_reviews += len(lengths)
        forward += len(lengths) * (n_conditions + bool(backward))
    if not jobs:
        return None
    weights = (architecture.n_parameters + architecture.n_head) * BYTES[model["dtype"]]
    row = row_of_jobs(work, model, weights, jobs, hardware)
    return row, {
        "work": work,
        "model": model["name"],
        "conditions": asked["conditions"],
        "reviews": n_reviews,
        "forward": forward,
        "backward": n_reviews * backward,
        "petaflops": operations / 1e15,
        "seconds": row["seconds_total"],
    }


def interventions_text(counts: Sequence[Mapping[str, Any]]) -> str:
    """The counts for readers; empty where there are none."""
    if not counts:
        return ""
    lines = [["", "conditions", "reviews", "forward passes", "backward passes", "PFLOP", "time"]]
    lines += [
        [
            f"{row['work']}, {row['model']}",
            *(f"{row[name]:,}" for name in ("conditions", "reviews", "forward", "backward")),
            three_digits(row["petaflops"]),
            duration(row["seconds"]),
        ]
        for row in counts
    ]
    return aligned(lines) + "passes of single reviews, at least; measures between them are left out\n"
