"""Reviews through a model in every condition: metrics by layer, and doses."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import torch
from threadpoolctl import threadpool_limits

from homogenization.interventions.conditions import (
    MASKED,
    POSITIONS,
    STEERING,
    UNTOUCHED,
    Condition,
    blocks_of,
    cells,
)
from homogenization.interventions.passes import OnHost, Run, damage, sink_moved
from homogenization.interventions.readings import read
from homogenization.interventions.schedule import Pack, apply, refuse_other_positions
from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA, crossed
from homogenization.measures.blocks import norms_attention
from homogenization.measures.reviews import Inline, with_origin
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.states.network import NOT_FINITE, PackedModel

_WAITING = 2  # runs whose numbers are not all there yet: each keeps the states of its pack in main memory


def check_conditions(conditions: Sequence[Condition], reviews: Pack) -> None:
    """Refuse conditions that a model can't be run in, before it runs.

    Raises:
        HomogenizationError: blocks that it does not have, or positions that are not rotary.
    """
    for condition in conditions:
        if condition.kind == STEERING:
            blocks_of(condition.blocks, reviews.model.n_blocks, reviews.name, reviews.steepest)
        if condition.kind == POSITIONS:
            refuse_other_positions(reviews.model, reviews.name)


def intervene(
    reviews: Pack,
    conditions: Sequence[Condition],
    metrics: Sequence[str],
    identity: Mapping[str, str],
    *,
    further: Callable[[str, str, Run, int], None] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Run reviews through a model in every condition.

    Args:
        reviews: a language model or encoder, and what it reads.
        conditions: what is done, the untouched model first: doses are measured against it.
        metrics: names of `homogenization.interventions.conditions.METRICS`; may be empty.
        identity: `model` and `variant`, for the tables.
        further: function that measures more: of a condition's key, the name of a review, a run and the place of the
            review in it.

    Returns:
        Metrics by layer (`INTERVENED_SCHEMA`) and doses (`DOSES_SCHEMA`), by condition and review.

    Raises:
        HomogenizationError: states that are not finite, a review that does not fit into memory, or what
            `check_conditions` refuses.
    """
    assert conditions[0].kind == UNTOUCHED
    check_conditions(conditions, reviews)
    shape = (len(conditions), len(reviews.names), reviews.model.n_blocks + 1, len(cells(metrics)))
    values, untouched_values = np.full(shape, np.nan), np.full(shape, np.nan)
    doses: dict[tuple[int, int], dict[str, Any]] = {}
    pending: deque[list[Future]] = deque()  # for each run, what measures its reviews

    def run_pack(indices: range) -> None:
        pack = reviews.part(indices)
        untouched = pack.through()

        @cache
        def read_untouched(review: int, massive: frozenset[int]) -> np.ndarray:
            return read(untouched.states_of(review), massive, metrics)

        def run_condition(number: int, condition: Condition) -> list[Future]:
            after = untouched if condition.kind == UNTOUCHED else apply(condition, pack, untouched)
            damages = damage(untouched, after, pack.token_ids)

            def measure(review: int) -> None:
                _refuse_overflow(after, review, condition, pack.names[review], identity)
                massive = (untouched.massive_of(review) | after.massive_of(review)) - {0}
                own = read_untouched(review, massive)
                at = number, indices[review]
                untouched_values[at] = own
                values[at] = own if after is untouched else read(after.states_of(review), massive, metrics)
                doses[at] = _dose(condition, untouched, after, review, damages)
                if further is not None:
                    further(condition.key, pack.names[review], after, review)

            return [beside.submit(measure, review) for review in range(len(indices))]

        for number, condition in enumerate(conditions):
            pending.append(run_condition(number, condition))
            settle(_WAITING)
            advance(len(pack.token_ids), condition.key)

    def settle(most: int) -> None:
        """Wait until the reviews of no more than so many runs are still measured."""
        while pending and (len(pending) > most or all(task.done() for task in pending[0])):
            for task in pending.popleft():
                task.result()

    with progress(len(conditions) * sum(reviews.lengths), "tokens") as advance, _beside(reviews.model) as beside:
        for review in range(len(reviews.names)):
            run_pack(range(review, review + 1))
        settle(0)
    views, measured = zip(*cells(metrics), strict=True) if metrics else ((), ())
    table = crossed(
        INTERVENED_SCHEMA,
        {"condition": [condition.key for condition in conditions]},
        {"review_id": reviews.names},
        {"layer": range(shape[2])},
        {"view": views, "metric": measured},
    ).with_columns(value=values.ravel(), untouched=untouched_values.ravel())
    table = with_origin(table, identity, reviews.model.n_blocks).select(*INTERVENED_SCHEMA)
    return table, _doses_table(doses, conditions, reviews, identity)


@contextmanager
def _beside(model: PackedModel) -> Iterator[Executor | Inline]:
    """Threads that measure one run while a GPU makes the next; on a CPU, which has no rest from passes, none."""
    if model.device.type != "cuda":
        yield Inline()
        return
    n_threads = max(1, torch.get_num_threads() - 1)  # one launches the passes
    with threadpool_limits(1), ThreadPoolExecutor(n_threads) as threads:
        yield threads


def _refuse_overflow(run: Run, place: int, condition: Condition, name: str, identity: Mapping[str, str]) -> None:
    """Refuse states of a review that are not finite."""
    if not run.is_finite(place):
        raise HomogenizationError(
            f"model {identity['model']}, variant {identity['variant']}, review {name}, condition {condition.key}: "
            f"{NOT_FINITE}"
        )


def _dose(condition: Condition, before: Run, after: Run, review: int, damages: OnHost | None) -> dict[str, Any]:
    """What the condition did to a review, without the columns that name it."""
    moved = 0.0 if condition.kind == UNTOUCHED else float(after.moved_mass[review])
    kl, cross_entropy = (None, None) if damages is None else damages.rows()[review].tolist()
    return {
        "kl": kl,
        "cross_entropy": cross_entropy,
        "moved_mass": None if condition.kind == POSITIONS else moved,
        "masked_mass": moved if condition.kind == MASKED else None,
        "n_massive": len(after.massive_of(review)),
        "sink_moved": sink_moved(before.received[review], after.received[review]),
    }


def _doses_table(
    doses: Mapping[tuple[int, int], Mapping[str, Any]],
    conditions: Sequence[Condition],
    reviews: Pack,
    identity: Mapping[str, str],
) -> pl.DataFrame:
    """The table of `doses`, by number of the condition and of the review."""
    of_all = {"model": identity["model"], "variant": identity["variant"], "branch_norm": norms_attention(reviews.model)}
    texts = {"review_id": reviews.names, "n_tokens": reviews.lengths}
    rows = [
        {**of_all, "condition": condition.key, **asdict(condition), **text, **doses[number, review]}
        for number, condition in enumerate(conditions)
        for review, text in enumerate(pl.DataFrame(texts).iter_rows(named=True))
    ]
    return pl.DataFrame(rows, schema=DOSES_SCHEMA)
