"""The costs of training: steps, tokens, operations and time, from the options of the runs and architectures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import TRAINING, rate, row_of_jobs
from homogenization.plan.text import text_of_work

_PASSES = 3  # forward, and backward twice as many operations


def training_costs(
    model: Mapping[str, Any], architecture: Architecture, run: Mapping[str, int], hardware: Mapping[str, float]
) -> dict[str, Any]:
    """What a training run takes at most: every review is as long as `max_tokens`; losses of held-out reviews left out.

    Args:
        model: `name`, `device` and `gpus` of the model that the run ends with.
        architecture: The model's network.
        run: `steps`, `batch_size`, `max_tokens`, and `snapshots`, the number of jobs.
        hardware: The section `hardware`.

    Returns:
        The row in the table `durations`, with the numbers for the text: steps, tokens, petaflops.
    """
    n_reviews, length = run["steps"] * run["batch_size"], run["max_tokens"]
    once = matrix_operations(architecture, np.array([length]), False) + 2 * architecture.n_logits * length
    operations = _PASSES * n_reviews * once
    weights = (architecture.n_parameters + architecture.n_head) * BYTES["float32"]
    jobs = [(operations / rate(model, hardware) / run["snapshots"], weights)] * run["snapshots"]
    numbers = {"steps": run["steps"], "tokens": n_reviews * length, "petaflops": operations / 1e15}
    return row_of_jobs(TRAINING, model, weights, jobs, hardware) | numbers


def training_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows for readers; empty where there are none."""
    return text_of_work(rows, {"steps": "steps", "tokens": "tokens"}, "at most, without losses of held-out reviews")
