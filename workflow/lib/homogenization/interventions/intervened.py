"""Reviews through a model in one condition, beside the untouched run: metrics by layer, doses, and pooled states."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.interventions.conditions import MASKED, POSITIONS, STEERING, UNTOUCHED, Condition, blocks_of, cells
from homogenization.interventions.passes import Run, damage, sink_moved
from homogenization.interventions.readings import pooled, read
from homogenization.interventions.schedule import Reviews, apply, refuse_other_positions
from homogenization.interventions.schemas import DOSES_SCHEMA, INTERVENED_SCHEMA, POOLED_STATES_SCHEMA, crossed
from homogenization.measures.blocks import norms_attention
from homogenization.measures.reviews import with_origin
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.states.network import NOT_FINITE


class Intervened(NamedTuple):
    """What a condition does to reviews: `INTERVENED_SCHEMA`, `DOSES_SCHEMA` and `POOLED_STATES_SCHEMA`, by review."""

    metrics: pl.DataFrame
    doses: pl.DataFrame
    states: pl.DataFrame


class _OfReview(NamedTuple):
    """What a condition does to one review; `values` are its metrics (layers, cells), `states` its pooled states."""

    values: np.ndarray
    untouched: np.ndarray
    dose: dict[str, Any]
    states: np.ndarray


def check_condition(condition: Condition, reviews: Reviews) -> None:
    """Refuse a condition that a model can't be run in, before it runs.

    Raises:
        HomogenizationError: blocks that it does not have, or positions that are not rotary.
    """
    if condition.kind == STEERING:
        blocks_of(condition.blocks, reviews.model.n_blocks, reviews.name, reviews.steepest)
    if condition.kind == POSITIONS:
        refuse_other_positions(reviews.model, reviews.name)


def intervene(
    reviews: Reviews, condition: Condition, metrics: Sequence[str], identity: Mapping[str, str]
) -> Intervened:
    """Run reviews through a model in one condition, and untouched: doses are measured against that.

    Args:
        reviews: a language model or encoder, and what it reads.
        condition: what is done.
        metrics: names of `homogenization.interventions.conditions.METRICS`.
        identity: `model` and `variant`, for the tables.

    Raises:
        HomogenizationError: states that are not finite, or what `check_condition` refuses.
    """
    check_condition(condition, reviews)
    found: list[_OfReview] = []
    with progress(sum(reviews.lengths), "tokens") as advance:
        for review, (name, token_ids) in enumerate(zip(reviews.names, reviews.texts, strict=True)):
            before = reviews.through(review)()
            after = before if condition.kind == UNTOUCHED else apply(condition, reviews, review, before)
            if not after.is_finite:
                read_by = f"model {identity['model']}, variant {identity['variant']}, review {name}"
                raise HomogenizationError(f"{read_by}, {condition.name}: {NOT_FINITE}")
            found.append(_measured(condition, before, after, token_ids, metrics))
            advance(len(token_ids))
    return _tables(found, reviews, condition, metrics, identity)


def _measured(
    condition: Condition, before: Run, after: Run, token_ids: np.ndarray, metrics: Sequence[str]
) -> _OfReview:
    massive = (before.massive | after.massive) - {0}
    untouched = read(before.states, massive, metrics)
    values = untouched if after is before else read(after.states, massive, metrics)
    dose = _dose(condition, before, after, token_ids)
    return _OfReview(values, untouched, dose, pooled(after.states, after.massive))


def _dose(condition: Condition, before: Run, after: Run, token_ids: np.ndarray) -> dict[str, Any]:
    """What the condition did to a review, without the columns that name it."""
    moved = 0.0 if condition.kind == UNTOUCHED else after.moved_mass
    kl, cross_entropy = damage(before, after, token_ids)
    return {
        "kl": kl,
        "cross_entropy": cross_entropy,
        "moved_mass": None if condition.kind == POSITIONS else moved,
        "masked_mass": moved if condition.kind == MASKED else None,
        "n_massive": len(after.massive),
        "sink_moved": sink_moved(before.received, after.received),
    }


def _tables(
    found: Sequence[_OfReview],
    reviews: Reviews,
    condition: Condition,
    metrics: Sequence[str],
    identity: Mapping[str, str],
) -> Intervened:
    n_blocks, names = reviews.model.n_blocks, {"model": identity["model"], "variant": identity["variant"]}
    views, measured = zip(*cells(metrics), strict=True)
    axes = {"condition": [condition.name]}, {"review_id": reviews.names}, {"layer": range(n_blocks + 1)}
    values, untouched = (np.array([one[place] for one in found], dtype=np.float64).ravel() for place in (0, 1))
    table = crossed(INTERVENED_SCHEMA, *axes, {"view": views, "metric": measured})
    table = with_origin(table.with_columns(value=values, untouched=untouched), identity, n_blocks)
    of_all = {**names, "condition": condition.name, **asdict(condition), "branch_norm": norms_attention(reviews.model)}
    texts = zip(reviews.names, reviews.lengths, found, strict=True)
    doses = [{**of_all, "review_id": name, "n_tokens": length, **one.dose} for name, length, one in texts]
    pooled_rows = [layer.tolist() for one in found for layer in one.states]
    states = crossed(POOLED_STATES_SCHEMA, *axes).with_columns(
        **{name: pl.lit(value) for name, value in names.items()},
        state=pl.Series(pooled_rows, dtype=pl.List(pl.Float32)),
    )
    return Intervened(
        table.select(*INTERVENED_SCHEMA),
        pl.DataFrame(doses, schema=DOSES_SCHEMA),
        states.select(*POOLED_STATES_SCHEMA),
    )
