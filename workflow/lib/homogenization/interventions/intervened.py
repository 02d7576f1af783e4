"""The job of one model, variant, condition and shard: its reviews, read in the condition and untouched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.conditions import POSITIONS, Condition, cells
from homogenization.interventions.doses import damage, norms_attention, sink_moved
from homogenization.interventions.passes import Run, run, run_in
from homogenization.interventions.readings import pooled, read
from homogenization.interventions.schemas import SCHEMAS
from homogenization.models.network import LanguageModel
from homogenization.run.log import progress
from homogenization.states.forward import refuse_not_finite
from homogenization.states.texts import Texts, tokens_read

Row = dict[str, Any]


def measure(
    model: LanguageModel, texts: Texts, identity: Mapping[str, str], condition: Mapping[str, Any], **chosen: Any
) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """The tables of a shard in one condition, with the arguments of `intervene`, and their metadata."""
    review_ids, tokens = tokens_read(model, texts)
    reviews = dict(zip(review_ids, tokens.by_review, strict=True))
    tables = intervene(model, reviews, Condition(**condition), **chosen)
    names = [pl.lit(identity[name]).alias(name) for name in ("model", "variant")]
    named = {name: table.with_columns(names) for name, table in tables.items()}
    return named, {"states": {**model.provenance, **identity}}


def intervene(
    model: LanguageModel,
    reviews: Mapping[str, np.ndarray],
    condition: Condition,
    metrics: Sequence[str],
    *,
    seed: int,
) -> dict[str, pl.DataFrame]:
    """Run reviews through a model in one condition, and untouched: doses are measured against that.

    `reviews` are token ids by name, `metrics` names among `METRICS`; `seed` is of all draws.

    Returns:
        The tables of `homogenization.interventions.schemas.SCHEMAS`, whose columns `model` and `variant` are null.

    Raises:
        HomogenizationError: states that are not finite, or a condition that the model can't be run in.
    """
    rows: dict[str, list[Row]] = {name: [] for name in SCHEMAS}
    of_model = {**asdict(condition), "branch_norm": norms_attention(model)}
    with progress(sum(map(len, reviews.values())), "tokens") as advance:
        for review_id, token_ids in reviews.items():
            before = run(model, token_ids)
            after = run_in(condition, model, token_ids, before, draw=seeded_hash(seed, review_id))
            for states in after.states:
                refuse_not_finite(torch.from_numpy(states), f"review {review_id}, {condition.name}")
            names = {"review_id": review_id, "condition": condition.name}
            rows["metrics"] += [names | cell for cell in _likeness(before, after, metrics)]
            rows["doses"].append(names | of_model | _dose(condition, before, after, token_ids))
            means = pooled(after.states, after.massive)
            rows["states"] += [{**names, "layer": layer, "state": state} for layer, state in enumerate(means)]
            advance(len(token_ids))
    tables = {name: pl.DataFrame(rows[name], schema=schema) for name, schema in SCHEMAS.items()}
    return tables | {"metrics": tables["metrics"].with_columns(depth=pl.col("layer") / model.n_blocks)}


def _likeness(before: Run, after: Run, metrics: Sequence[str]) -> Iterator[Row]:
    """Layer, view, metric and its value in both runs, over the same tokens."""
    both = (read(one.states, before.massive | after.massive, metrics) for one in (after, before))
    for layer, of_layer in enumerate(zip(*both, strict=True)):
        for (view, metric), value, untouched in zip(cells(metrics), *of_layer, strict=True):
            yield {"layer": layer, "view": view, "metric": metric, "value": value, "untouched": untouched}


def _dose(condition: Condition, before: Run, after: Run, token_ids: np.ndarray) -> Row:
    """What the condition did to a review."""
    kl, cross_entropy = damage(before, after, token_ids)
    return {
        "n_tokens": len(token_ids),
        "kl": kl,
        "cross_entropy": cross_entropy,
        "moved_mass": None if condition.kind == POSITIONS else after.moved_mass,
        "n_massive": len(after.massive),
        "sink_moved": sink_moved(before.received, after.received),
    }
