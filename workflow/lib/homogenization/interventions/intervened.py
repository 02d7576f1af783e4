"""Reviews through a model in every condition: metrics by layer, and doses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.cells import cells
from homogenization.interventions.changes import Templates
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
from homogenization.measures.reviews import with_origin
from homogenization.models.tokens import Tokens
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.states.model import LanguageModel
from homogenization.states.packs import run_packs


@dataclass(frozen=True)
class Reviews:
    """Reviews as a model reads them.

    Attributes:
        names: names of the reviews.
        tokens: their tokens.
        seed: seed of all draws.
        templates: for each review, the attention that position predicts; None where no condition asks for it.
        steepest: depths between which the model's homogenization is fastest; None where no condition asks for it.
    """

    names: Sequence[str]
    tokens: Tokens
    seed: int
    templates: Sequence[Templates] | None = None
    steepest: tuple[float, float] | None = None

    def pack(self, model: LanguageModel, name: str, reviews: range) -> Pack:
        """Those in `reviews`, with what the conditions need."""
        return Pack(
            model.with_head,
            name,
            self.tokens.token_ids[self.tokens.span(reviews)],
            self.tokens.lengths[reviews.start : reviews.stop].tolist(),
            [seeded_hash(self.seed, self.names[review]) for review in reviews],
            self.steepest,
            self.templates and self.templates[reviews.start : reviews.stop],
        )


def check_conditions(model: LanguageModel, name: str, conditions: Sequence[Condition], reviews: Reviews) -> None:
    """Refuse conditions that a model can't be run in, before it runs.

    Raises:
        HomogenizationError: blocks that it does not have, or positions that are not rotary.
    """
    for condition in conditions:
        if condition.kind == DIAL:
            blocks_of(condition.blocks, model.packed.n_blocks, name, reviews.steepest)
        if condition.kind == POSITIONS:
            refuse_other_positions(model.packed, name)


def intervene(
    model: LanguageModel,
    reviews: Reviews,
    conditions: Sequence[Condition],
    metrics: Sequence[str],
    identity: Mapping[str, str],
    token_budget: int,
    also: Callable[[Condition, str, Run, int], None] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Run reviews through a model in every condition.

    Args:
        model: language model or encoder.
        reviews: what it reads.
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
    check_conditions(model, identity["model"], conditions, reviews)
    shape = (len(conditions), len(reviews.names), model.packed.n_blocks + 1, len(cells(metrics)))
    values = np.full(shape, np.nan)
    doses: dict[tuple[int, int], dict[str, Any]] = {}

    def run_pack(indices: range) -> None:
        pack = reviews.pack(model, identity["model"], indices)
        untouched = pack.through()
        for number, condition in enumerate(conditions):
            run_condition(number, condition, indices, pack, untouched)
            advance(len(pack.token_ids), condition.key)

    def run_condition(number: int, condition: Condition, indices: range, pack: Pack, untouched: Run) -> None:
        fitting = [review for review in range(len(indices)) if fits(condition, pack, review)]
        if not fitting:
            return
        part, before = pack, untouched
        if len(fitting) < len(indices):
            part = pack.part(fitting)
            before = part.through()
        found = before if condition.kind == UNTOUCHED else apply(condition, part, before)
        _refuse_overflow(found, condition, [reviews.names[indices[review]] for review in fitting], identity)
        harm = damage(before, found, part.token_ids)
        for place, review in enumerate(fitting):
            values[number, indices[review]] = read(found.states_of(place), found.massive[place], metrics)
            doses[number, indices[review]] = _dose(condition, before, found, place, harm[place])
            if also is not None:
                also(condition, reviews.names[indices[review]], found, place)

    lengths = reviews.tokens.lengths.tolist()
    with progress(len(conditions) * sum(lengths), "tokens") as advance:
        run_packs(model.packed.device, lengths, token_budget, run_pack, shown=False)
    views, measured = zip(*cells(metrics), strict=True) if metrics else ((), ())
    table = crossed(
        INTERVENED_SCHEMA,
        {"condition": [condition.key for condition in conditions]},
        {"review_id": reviews.names},
        {"layer": range(shape[2])},
        {"view": views, "metric": measured},
    ).with_columns(value=values.ravel())
    done = np.array([(number, review) in doses for number, review in np.ndindex(shape[:2])], dtype=bool)
    table = table.filter(np.repeat(done, shape[2] * shape[3]))
    table = with_origin(table, identity, model.packed.n_blocks).select(*INTERVENED_SCHEMA)
    return table, _doses_table(doses, conditions, reviews, identity)


def _refuse_overflow(found: Run, condition: Condition, names: Sequence[str], identity: Mapping[str, str]) -> None:
    """Refuse states that are not finite; `names` are those of the run's reviews."""
    for review, name in enumerate(names):
        if not all(np.isfinite(tokens).all() for tokens in found.states_of(review)):
            raise HomogenizationError(
                f"model {identity['model']}, variant {identity['variant']}, review {name}, condition {condition.key}: "
                "the states are not all finite. float16 overflows at 65504: set 'dtype' of this model to bfloat16 or "
                "float32."
            )


def _dose(condition: Condition, before: Run, after: Run, review: int, harm: tuple[float | None, ...]) -> dict[str, Any]:
    """What the condition did to a review, without the columns that name it."""
    moved = 0.0 if condition.kind == UNTOUCHED else float(after.moved_mass[review])
    return {
        "kl": harm[0],
        "cross_entropy": harm[1],
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
    reviews: Reviews,
    identity: Mapping[str, str],
) -> pl.DataFrame:
    """The table of `doses`, by number of the condition and of the review; nulls for what was skipped."""
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
            "n_tokens": int(reviews.tokens.lengths[review]),
            **doses.get((number, review), {}),
        }
        for number, condition in enumerate(conditions)
        for review, name in enumerate(reviews.names)
    ]
    return pl.DataFrame(rows, schema=DOSES_SCHEMA)
