"""The work of a study: jobs, passes, tokens and operations, from token counts and architectures; hours of a pilot.

`model` is the `name`, `dtype` and `device` of a model and the `gpus` of its jobs, 0 on the CPU; `architecture` is its
network, and `token_counts` those of its jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import (
    TOTAL,
    aligned,
    count,
    matrix_operations,
    plan_row,
    plan_table,
    plan_text,
    three_digits,
)
from homogenization.run.files import read_json

#: What the jobs of a study do, by kind of work and model, and a total. Work that is timed by no pilot has no hours.
WORKS_SCHEMA = {
    #: `states`, `components`, a measure of stored states, `interventions`, `consequences`, `training` or `total`
    "work": pl.String,
    "model": pl.String,  #: null in the total
    "jobs": pl.Int64,  #: each loads the model once; those of a measure open a store
    "gpus_per_job": pl.Int64,  #: 0 on the CPU; in the total the largest
    "forward": pl.Int64,  #: forward passes of a review
    "backward": pl.Int64,  #: backward passes of a review
    "tokens": pl.Int64,  #: over the forward passes; of a measure, those of the stores
    "petaflops": pl.Float64,  #: 10¹⁵ floating-point operations of the matrix products of the passes
    "seconds_to_start": pl.Float64,  #: s of a job, in the pilot
    "seconds_per_token": pl.Float64,  #: s, in the pilot
    "hours": pl.Float64,  #: h, over all jobs, one after the other
}
_READING = STATES, COMPONENTS = "states", "components"
_TRAINING_PASSES = 3  # forward, and backward twice as many operations


class Pace(NamedTuple):
    """Seconds of a job: `start` whatever its texts (libraries, weights, a check of the model), and `token` a token."""

    start: float
    token: float

    def hours(self, n_jobs: int, n_tokens: int) -> float:
        """Hours of jobs that read `n_tokens` tokens together, one job after the other."""
        return (n_jobs * self.start + n_tokens * self.token) / 3600


def pace(few: int, seconds: float, many: int, seconds_of_many: float) -> Pace:
    """The line through two jobs: tokens and seconds of the smaller and of the larger one.

    Neither part is negative: where the clock is coarser than the difference, all the time is that of the start or all
    is that of the tokens.
    """
    token = max((seconds_of_many - seconds) / (many - few), 0.0)
    start = seconds_of_many - token * many
    return Pace(start, token) if start > 0 else Pace(0.0, seconds_of_many / many)


def paces_of(
    timed: Mapping[str, Sequence[str]], records: Sequence[str | Path], benchmarks: Sequence[str | Path]
) -> dict[tuple[str, str], Pace]:
    """The pace of each kind of job that a pilot timed, by model and work.

    Args:
        timed: The kinds of jobs of each model.
        records: Run records of each model, over the smaller and over the larger part of the reviews.
        benchmarks: What Snakemake's directive `benchmark` wrote of two jobs over these, for each model and kind.
    """
    tokens = iter([read_json(record)["n_tokens"] for record in records])
    seconds = iter([pl.read_csv(benchmark, separator="\t")["s"].item() for benchmark in benchmarks])
    paces = {}
    for model, works in timed.items():
        few, many = next(tokens), next(tokens)
        for work in works:
            paces[model, work] = pace(few, next(seconds), many, next(seconds))
    return paces


def shard_work(
    work: str,
    model: Mapping[str, Any],
    architecture: Architecture,
    token_counts: pl.DataFrame,
    *,
    record_attention: bool = False,
    pace: Pace | None = None,
) -> dict[str, Any]:
    """The row of what is done once for each variant and shard: a pass of the model, or a measure of stored states.

    Args:
        work: `states`, `components`, or the name of a measure.
        model: The model.
        architecture: The model's network.
        token_counts: Token counts of the jobs.
        record_attention: Whether a pass records the attention that tokens receive.
        pace: How long jobs take; None: no pilot timed them.
    """
    lengths = token_counts["lengths"].explode().to_numpy()
    reads, n_jobs, n_tokens = work in _READING, len(token_counts), int(lengths.sum())
    row = _row(work, model, n_jobs) | {
        "gpus_per_job": model["gpus"] if reads else 0,
        "forward": len(lengths) if reads else 0,
        "tokens": n_tokens,
        "petaflops": matrix_operations(architecture, lengths, record_attention) / 1e15 if reads else 0.0,
    }
    if pace is not None:
        row |= {"seconds_to_start": pace.start, "seconds_per_token": pace.token}
        row["hours"] = pace.hours(n_jobs, n_tokens)
    return row


def intervention_work(
    work: str,
    model: Mapping[str, Any],
    architecture: Architecture,
    token_counts: pl.DataFrame,
    jobs: Sequence[Sequence[Any]],
) -> dict[str, Any]:
    """The row of the interventions in one model, or of its reading for consequences.

    A pass goes over each review, with the head of a causal model. Massive keys are masked in at least
    one pass. What is measured between the passes is left out.

    Args:
        work: `interventions` or `consequences`.
        model: The model.
        architecture: The model's network.
        token_counts: Token counts of the model's jobs.
        jobs: of each job, variant whose tokens are counted, shard, number of reviews, passes of a review.
    """
    operations, forward, n_tokens = 0, 0, 0
    for variant, shard, number, n_passes in jobs:
        counts = token_counts.filter(variant=variant, shard=shard)
        lengths = np.concatenate([of_job.to_numpy()[:number] for of_job in counts["lengths"]])
        once = matrix_operations(architecture, lengths, True)
        head = 2 * architecture.n_logits * int(lengths.sum()) if architecture.causal else 0
        operations += n_passes * (once + head)
        forward, n_tokens = forward + len(lengths) * n_passes, n_tokens + int(lengths.sum()) * n_passes
    return _row(work, model, len(jobs)) | {"forward": forward, "tokens": n_tokens, "petaflops": operations / 1e15}


def training_work(model: Mapping[str, Any], architecture: Architecture, run: Mapping[str, int]) -> dict[str, Any]:
    """The row of a training run at most: every review is as long as `max_tokens`; held-out reviews are left out.

    `run` has `steps`, `batch_size` and `max_tokens`.
    """
    n_reviews, length = run["steps"] * run["batch_size"], run["max_tokens"]
    once = matrix_operations(architecture, np.array([length]), False) + 2 * architecture.n_logits * length
    passes = {"forward": n_reviews, "backward": n_reviews, "tokens": n_reviews * length}
    return _row("training", model, 1) | passes | {"petaflops": _TRAINING_PASSES * n_reviews * once / 1e15}


def _row(work: str, model: Mapping[str, Any], n_jobs: int) -> dict[str, Any]:
    named = {"work": work, "model": model["name"], "jobs": n_jobs, "gpus_per_job": model["gpus"], "backward": 0}
    return dict.fromkeys(WORKS_SCHEMA) | named


def works_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `works`: `rows` and their total; hours of the total are those of the rows that were timed."""
    works = pl.DataFrame(rows, schema=WORKS_SCHEMA)
    total = works.select(
        pl.lit(TOTAL).alias("work"),
        pl.col("gpus_per_job").max(),
        pl.col("jobs", "forward", "backward", "petaflops").sum(),
        pl.when(pl.col("hours").is_not_null().any()).then(pl.col("hours").sum()).alias("hours"),
    )
    return pl.concat([works, total.cast({"gpus_per_job": pl.Int64})], how="diagonal")


def works_text(works: pl.DataFrame) -> str:
    """The table `works` for readers: with hours, or with how to find them."""
    columns = {
        "": lambda row: f"{row['work']}, {row['model']}" if row["model"] else row["work"],
        "jobs": count("jobs"),
        "forward": count("forward"),
        "backward": count("backward"),
        "PFLOP": lambda row: three_digits(row["petaflops"]),
    }
    if works["hours"].null_count() < len(works):
        columns |= {
            "to start": _timed("seconds_to_start", 1, "s"),
            "per 1,000 tokens": _timed("seconds_per_token", 1000, "s"),
            "TFLOP/s": _reached,
            "hours": _timed("hours", 1, "h"),
        }
        note = "hours of all jobs, one after the other, as a pilot of the first reviews took them; -: not timed\n"
    else:
        note = (
            "hours: PFLOP / (3.6 x TFLOP/s that passes reach on your card, about a third of its peak), or timed: "
            "snakemake plan --config pilot=24\n"
        )
    return aligned(works.iter_rows(named=True), columns) + note


def _timed(column: str, factor: float, unit: str) -> Callable[[Mapping[str, Any]], str]:
    """The cell of a time; a dash where no pilot found it."""
    return lambda row: "-" if row[column] is None else f"{three_digits(factor * row[column])} {unit}"


def _reached(row: Mapping[str, Any]) -> str:
    """Operations in a second, with all that a job does for a token."""
    if not row["petaflops"] or not row["seconds_per_token"]:
        return "-"
    return three_digits(1e3 * row["petaflops"] / row["tokens"] / row["seconds_per_token"])


def plan_study(
    models: Sequence[tuple[Mapping[str, Any], Architecture, pl.DataFrame]],
    params: Mapping[str, Any],
    paces: Mapping[tuple[str, str], Pace],
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The tables `plan` and `works`, and the text for readers.

    Args:
        models: For each model its entry, its network and its token counts.
        params: `states`, that section; and by name of the model `works` (variants by work), `readings` (by section)
            and, of those that are trained, `training`.
        paces: How long jobs took in a pilot, by model and work; empty without one.
    """
    states, costs, works = params["states"], [], []
    for model, network, counts in models:
        name = model["name"]
        costs.append(plan_row(model, network, counts, states))
        for work, variants in params["works"][name].items():
            recorded = work == STATES and states["record_attention"]
            of_work = counts.filter(pl.col("variant").is_in(variants))
            pace = paces.get((name, work))
            works.append(shard_work(work, model, network, of_work, record_attention=recorded, pace=pace))
        for work, read in params["readings"][name].items():
            works.append(intervention_work(work, model, network, counts, read))
        if name in params["training"]:
            works.append(training_work(model, network, params["training"][name]))
    plan, table = plan_table(costs), works_table(works)
    return plan, table, f"{plan_text(plan)}\n{works_text(table)}"
