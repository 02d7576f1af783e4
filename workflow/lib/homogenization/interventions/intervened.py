"""Reviews through a model in every condition: metrics by layer, and doses."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from homogenization.interventions.cells import cells
from homogenization.interventions.conditions import (
    CAPPED,
    CLOSED,
    DIAL,
    POSITIONS,
    UNTOUCHED,
    Condition,
    blocks_of,
)
from homogenization.interventions.passes import Run, damage, sink_moved
from homogenization.interventions.positions import refuse_other_positions
from homogenization.interventions.readings import read
from homogenization.interventions.schedule import Pack, apply, fits
from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA, crossed
from homogenization.measures.blocks import norms_attention
from homogenization.measures.reviews import with_origin
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.states.packs import run_packs


def check_conditions(conditions: Sequence[Condition], reviews: Pack) -> None:
    """Refuse conditions that a model can't be run in, before it runs.

    Raises:
        HomogenizationError: blocks that it does not have, or positions that are not rotary.
    """
    for condition in conditions:
        if condition.kind == DIAL:
            blocks_of(condition.blocks, reviews.model.n_blocks, reviews.name, reviews.steepest)
        if condition.kind == POSITIONS:
            refuse_other_positions(reviews.model, reviews.name)


def intervene(
    reviews: Pack,
    conditions: Sequence[Condition],
    metrics: Sequence[str],
    identity: Mapping[str, str],
    token_budget: int,
    also: Callable[[Condition, str, Run, int], None] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Run reviews through a model in every condition.

    Args:
        reviews: a language model or encoder, and what it reads.
        conditions: what is done, the untouched model first: doses are measured against it.
        metrics: names of `homogenization.interventions.cells.METRICS`; may be empty.
        identity: `model` and `variant`, for the tables.
        token_budget: most tokens of whole reviews in a pass; where memory runs out, it halves.
        also: called with the condition, the name of a review, the run that it is in and its place there; a pass that
            ran out of memory is run again, and calls it again.

    Returns:
        Metrics by layer (`INTERVENED_SCHEMA`) and doses (`DOSES_SCHEMA`), by condition and review. A review that is too
        long for a condition has no metrics there, and a dose of nulls.

    Raises:
        HomogenizationError: states that are not finite, a review that does not fit into memory, or what
            `check_conditions` refuses.
    """
    assert conditions[0].kind == UNTOUCHED
    check_conditions(conditions, reviews)
    shape = (len(conditions), len(reviews.names), reviews.model.n_blocks + 1, len(cells(metrics)))
    values, untouched_values = np.full(shape, np.nan), np.full(shape, np.nan)
    doses: dict[tuple[int, int], dict[str, Any]] = {}

    def run_pack(indices: range) -> None:
        pack = reviews.part(indices)
        untouched = pack.through()

        @cache
        def read_untouched(review: int, massive: frozenset[int]) -> np.ndarray:
            return read(untouched.states_of(review), massive, metrics)

        for number, condition in enumerate(conditions):
            run_condition(number, condition, indices, pack, untouched, read_untouched)
            advance(len(pack.token_ids), condition.key)

    def run_condition(
        number: int, condition: Condition, indices: range, pack: Pack, untouched: Run, read_untouched: Callable
    ) -> None:
        fitting = [review for review in range(len(indices)) if fits(condition, pack, review)]
        if not fitting:
            return
        part, before = pack, untouched
        if len(fitting) < len(indices):
            part = pack.part(fitting)
            before = part.through()
        after = before if condition.kind == UNTOUCHED else apply(condition, part, before)
        _refuse_overflow(after, condition, part.names, identity)
        damages = damage(before, after, part.token_ids)
        for place, review in enumerate(fitting):
            massive = (before.massive[place] | after.massive[place]) - {0}
            untouched_values[number, indices[review]] = read_untouched(review, massive)
            values[number, indices[review]] = (
                read_untouched(review, massive) if after is before else read(after.states_of(place), massive, metrics)
            )
            doses[number, indices[review]] = _dose(condition, before, after, place, damages[place])
            if also is not None:
                also(condition, part.names[place], after, place)

    with progress(len(conditions) * sum(reviews.lengths), "tokens") as advance:
        run_packs(reviews.model.device, reviews.lengths, token_budget, run_pack, shown=False)
    views, measured = zip(*cells(metrics), strict=True) if metrics else ((), ())
    table = crossed(
        INTERVENED_SCHEMA,
        {"condition": [condition.key for condition in conditions]},
        {"review_id": reviews.names},
        {"layer": range(shape[2])},
        {"view": views, "metric": measured},
    ).with_columns(value=values.ravel(), untouched=untouched_values.ravel())
    done = np.array([(number, review) in doses for number, review in np.ndindex(shape[:2])], dtype=bool)
    table = table.filter(np.repeat(done, shape[2] * shape[3]))
    table = with_origin(table, identity, reviews.model.n_blocks).select(*INTERVENED_SCHEMA)
    return table, _doses_table(doses, conditions, reviews, identity)


def _refuse_overflow(run: Run, condition: Condition, names: Sequence[str], identity: Mapping[str, str]) -> None:
    """Refuse states that are not finite; `names` are those of the run's reviews."""
    for review, name in enumerate(names):
        if not all(np.isfinite(tokens).all() for tokens in run.states_of(review)):
            raise HomogenizationError(
                f"model {identity['model']}, variant {identity['variant']}, review {name}, condition {condition.key}: "
                "the states are not all finite. float16 overflows at 65504: set 'dtype' of this model to bfloat16 or "
                "float32."
            )


def _dose(
    condition: Condition, before: Run, after: Run, review: int, damages: tuple[float | None, ...]
) -> dict[str, Any]:
    """What the condition did to a review, without the columns that name it."""
    moved = 0.0 if condition.kind == UNTOUCHED else float(after.moved_mass[review])
    return {
        "kl": damages[0],
        "cross_entropy": damages[1],
        "moved_mass": None if condition.kind == POSITIONS else moved,
        "closed_mass": closed_mass(condition, moved),
        "n_massive": len(after.massive[review]),
        "sink_moved": sink_moved(before.received[review], after.received[review]),
    }


def closed_mass(condition: Condition, moved: float) -> float | None:
    """The mass that is taken from keys: of rows that keep their sum, what moves; of rows that lose it, twice the TV."""
    if condition.kind == CLOSED:
        return moved
    if condition.kind == CAPPED:
        return moved if condition.pattern == "others" else 2 * moved
    return None


def _doses_table(
    doses: Mapping[tuple[int, int], Mapping[str, Any]],
    conditions: Sequence[Condition],
    reviews: Pack,
    identity: Mapping[str, str],
) -> pl.DataFrame:
    """The table of `doses`, by number of the condition and of the review; nulls for what was skipped."""
    branch_norm = norms_attention(reviews.model)
    rows = [
        {
            "model": identity["model"],
            "variant": identity["variant"],
            "review_id": name,
            "condition": condition.key,
            "kind": condition.kind,
            "pattern": condition.pattern,
            "blocks": condition.blocks,
            "strength": condition.strength,
            "n_tokens": n_tokens,
            "branch_norm": branch_norm,
            **doses.get((number, review), {}),
        }
        for number, condition in enumerate(conditions)
        for review, (name, n_tokens) in enumerate(zip(reviews.names, reviews.lengths, strict=True))
    ]
    return pl.DataFrame(rows, schema=DOSES_SCHEMA)
