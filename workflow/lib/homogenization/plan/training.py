"""The costs of training: steps, tokens, operations and time, from the options of the runs and architectures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import TRAINING, row_of_jobs
from homogenization.plan.text import aligned, duration, three_digits

_PASSES = 3  # forward, and backward twice as many operations


def training_costs(
    model: Mapping[str, Any], architecture: Architecture, asked: Mapping[str, int], hardware: Mapping[str, float]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a training run takes at most: every review is as long as `max_tokens`; losses of held-out reviews left out.

    Args:
        model: `name`, `device` and `gpus` of the model that the run ends with.
        architecture: The model's network.
        asked: `steps`, `batch_size`, `max_tokens`, and `snapshots`, the number of jobs.
        hardware: The section `hardware`.

    Returns:
        The row in the table `durations`, and the counts for the text: model, steps, tokens, petaflops, seconds.
    """
    n_reviews, length = asked["steps"] * asked["batch_size"], asked["max_tokens"]
    once = matrix_operations(architecture, np.array([length]), False) + 2 * architecture.n_logits * length
    operations = _PASSES * n_reviews * once
    rate = 1e12 * hardware["cpu_tflops" if model["device"] == "cpu" else "gpu_tflops"]
    weights = (architecture.n_parameters + architecture.n_head) * BYTES["float32"]
    jobs = [(operations / rate / asked["snapshots"], weights)] * asked["snapshots"]
    row = row_of_jobs(TRAINING, model, weights, jobs, hardware)
    return row, {
        "model": model["name"],
        "steps": asked["steps"],
        "tokens": n_reviews * length,
        "petaflops": operations / 1e15,
        "seconds": row["seconds_total"],
    }


def training_text(counts: Sequence[Mapping[str, Any]]) -> str:
    """The counts for readers; empty where there are none."""
    if not counts:
        return ""
    lines = [["", "steps", "tokens", "PFLOP", "time"]]
    lines += [
        [
            f"{TRAINING}, {row['model']}",
            f"{row['steps']:,}",
            f"{row['tokens']:,}",
            three_digits(row["petaflops"]),
            duration(row["seconds"]),
        ]
        for row in counts
    ]
    return aligned(lines) + "at most, without losses of held-out reviews\n"
