"""The costs of interventions: conditions, passes, operations and time, from token counts and architectures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import computed_pairs, matrix_operations
from homogenization.plan.durations import INTERVENTIONS, rate, rate_in_float64, row_of_jobs
from homogenization.plan.text import text_of_work

_FLOAT64_BYTES = 8
_RUNS = 3  # of each block for slopes
_DELIVERED = 2  # backward passes for what patterns deliver


def intervention_costs(
    model: Mapping[str, Any],
    architecture: Architecture,
    token_counts: pl.DataFrame,
    study: Mapping[str, Any],
    hardware: Mapping[str, float],
    work: str = INTERVENTIONS,
) -> dict[str, Any]:
    """What the interventions in one model take, or its reading for consequences.

    A condition is a forward pass over each review, with the head of a causal model. Slopes are a forward pass in
    float64 and a backward pass for each pair of view and metric, which takes as many operations as a forward one, since
    no parameter has a gradient, and twice as many in attention, whose weights have one. Each block runs twice more for
    them, once of which is for what patterns deliver. Massive keys are closed in at least one pass. What is measured
    between the passes is left out.

    Args:
        model: `name`, `dtype`, `device` and `gpus` of the model.
        architecture: The model's network.
        token_counts: Token counts of the model's jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        study: `jobs` (variant whose tokens are counted, shard, number of reviews, number of conditions), at least one,
            and `backward` (passes of a review).
        hardware: The section `hardware`.
        work: What the table and the text call it.

    Returns:
        The row in the table `durations`, with the numbers for the text: conditions (those of the model), reviews,
        forward, backward, petaflops, and gpu_memory_gib of slopes, None without them.
    """
    backward = study["backward"]
    jobs, operations, n_reviews, forward, longest = [], 0.0, 0, 0, 0
    for variant, shard, number, n_conditions in study["jobs"]:
        counts = token_counts.filter(variant=variant, shard=shard)
        lengths = np.concatenate([of_job.to_numpy()[:number] for of_job in counts["lengths"]])
        once = matrix_operations(architecture, lengths, True)
        head = 2 * architecture.n_logits * int(lengths.sum()) if architecture.causal else 0
        attention = once - 2 * architecture.n_multiplied * int(lengths.sum())
        plain = n_conditions * (once + head)
        in_float64 = _RUNS * once + backward * (once + attention) if backward else 0
        jobs.append((plain / rate(model, hardware) + in_float64 / rate_in_float64(model, hardware), 0))
        operations += plain + in_float64
        n_reviews += len(lengths)
        longest = max(longest, int(lengths.max()))
        forward += len(lengths) * (n_conditions + bool(backward))
    weights = (architecture.n_parameters + architecture.n_head) * BYTES[model["dtype"]]
    return row_of_jobs(work, model, weights, jobs, hardware) | {
        "conditions": max(n_conditions for *_, n_conditions in study["jobs"]),
        "reviews": n_reviews,
        "forward": forward,
        "backward": n_reviews * backward,
        "petaflops": operations / 1e15,
        "gpu_memory_gib": None
        if model["device"] == "cpu" or not backward
        else slopes_bytes(architecture, model["dtype"], longest, backward - _DELIVERED) / 2**30,
    }


def slopes_bytes(architecture: Architecture, dtype: str, n_tokens: int, n_cells: int) -> int:
    """Memory of the device that slopes of a review take, and what patterns deliver.

    The sum of: the weights, head included, and the embeddings in float64; the residual stream of all layers; a block
    in float64; and of its backward passes five tensors of the widest inner width, twelve of the stream's, and three
    and the attention maps for each cell, of which there are ten at least. What was counted in passes of LLaMA-3-8B,
    Gemma-7B, Qwen2.5-7B and Gemma-2-9B on torch's meta device is 72 to 99 % of the last.

    Args:
        architecture: The model's network.
        dtype: Type of the weights as they are run.
        n_tokens: Tokens of the longest review.
        n_cells: Pairs of view and metric whose slopes are taken.
    """
    embeddings, in_blocks = architecture.n_logits, architecture.n_parameters - architecture.n_logits
    weights = BYTES[dtype] * (in_blocks + architecture.n_head) + _FLOAT64_BYTES * embeddings
    layers = (architecture.n_blocks + 1) * architecture.width
    tensors = 5 * architecture.widest + (12 + 3 * n_cells) * architecture.width
    maps = architecture.heads * int(computed_pairs(np.array([n_tokens]), architecture.causal, True)[0])
    block = in_blocks // architecture.n_blocks + n_tokens * tensors + max(n_cells + 4, 10) * maps
    return weights + _FLOAT64_BYTES * (n_tokens * layers + block)


def interventions_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows for readers; empty where there are none."""
    counts = {"conditions": "conditions", "reviews": "reviews"}
    counts |= {"forward passes": "forward", "backward passes": "backward"}
    slopes = [
        f"slopes, {row['model']}: {row['gpu_memory_gib']:.1f} GiB of a GPU\n" for row in rows if row["gpu_memory_gib"]
    ]
    note = "passes of single reviews, at least; measures between them are left out"
    return text_of_work(rows, counts, note) + "".join(slopes)
