"""The job of one model, variant, condition and shard: its reviews, read in the condition and untouched."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.conditions import POSITIONS, UNTOUCHED, Condition, cells
from homogenization.interventions.doses import damage, norms_attention, sink_moved
from homogenization.interventions.passes import run, run_in
from homogenization.interventions.readings import pooled, read
from homogenization.interventions.schemas import SCHEMAS
from homogenization.models.network import LanguageModel
from homogenization.run.parquet import read_table, write_table
from homogenization.run.progress import progress
from homogenization.states.forward import refuse_not_finite
from homogenization.states.long_texts import Texts, tokens_read, with_originals

_STEEPEST = {"variant": "original", "view": "all_tokens", "metric": "cosine_anisotropy", "statistic": "steepest"}


def run_shard(model: LanguageModel, inputs: Any, params: Any, paths: Mapping[str, str]) -> None:
    """Write the tables of a shard in one condition.

    Args:
        model: language model or encoder.
        inputs: files: `variant`, `original`, and `depth`, the table, where the condition needs it.
        params: parameters of the rule: `model`, the entry; `variant`; `shard`; `condition`, its fields; `metrics` of
            the tokens; `n_reviews`, by rank; `seed` of all draws.
        paths: files to write: `metrics`, `doses`, and `states` where pooled states are wanted.

    Raises:
        HomogenizationError: a condition that the model can't be run in, or states that are not finite.
    """
    originals = read_table(inputs.original)
    first = originals.sort("rank").head(params.n_reviews).select("review_id")
    reviews = with_originals(read_table(inputs.variant), originals)
    reviews = reviews.join(first, on="review_id", how="semi", maintain_order="left")
    texts = Texts(*(reviews[column].to_list() for column in ("review_id", "text", "original")))
    review_ids, tokens = tokens_read(model, texts)
    identity = {"model": params.model["name"], "variant": params.variant, "shard": params.shard}
    steepest = steepest_depths(read_table(inputs.depth), identity["model"]) if inputs.get("depth") else None
    tables = intervene(
        model,
        dict(zip(review_ids, tokens.by_review, strict=True)),
        Condition(**params.condition),
        params.metrics,
        params.seed,
        steepest,
    )
    for table, path in paths.items():
        named = tables[table].with_columns(pl.lit(identity[name]).alias(name) for name in ("model", "variant"))
        write_table(named, path, {"states": {**model.provenance, **identity}})


def steepest_depths(depth: pl.DataFrame, model: str) -> tuple[float, float] | None:
    """Depths between which the originals' mean cosine grows fastest, from tables/depth.parquet; None if it never does."""
    steepest = depth.filter(model=model, **_STEEPEST).filter(pl.col("estimate").is_finite())
    return steepest.select("ci_low", "ci_high").row(0) if len(steepest) else None


def intervene(
    model: LanguageModel,
    reviews: Mapping[str, np.ndarray],
    condition: Condition,
    metrics: Sequence[str],
    seed: int,
    steepest: tuple[float, float] | None = None,
) -> dict[str, pl.DataFrame]:
    """Run reviews through a model in one condition, and untouched: doses are measured against that.

    Args:
        model: language model or encoder.
        reviews: token ids by name.
        condition: what is done.
        metrics: names of `homogenization.interventions.conditions.METRICS`.
        seed: seed of all draws.
        steepest: depths between which the model's homogenization is fastest; None where no condition asks for it.

    Returns:
        The tables of `homogenization.interventions.schemas.SCHEMAS`, whose columns `model` and `variant` are null.

    Raises:
        HomogenizationError: states that are not finite, or a condition that the model can't be run in.
    """
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    of_model = {**asdict(condition), "branch_norm": norms_attention(model)}
    with progress(sum(map(len, reviews.values())), "tokens") as advance:
        for review_id, token_ids in reviews.items():
            before = run(model, token_ids)
            after = run_in(condition, model, token_ids, before, seeded_hash(seed, review_id), steepest)
            refuse_not_finite(after.states, f"review {review_id}, {condition.name}")
            names = {"review_id": review_id, "condition": condition.name}
            values = [read(one.states, before.massive | after.massive, metrics) for one in (after, before)]
            for layer, (state, *numbers) in enumerate(zip(pooled(after.states, after.massive), *values, strict=True)):
                place = {**names, "layer": layer, "depth": layer / model.n_blocks}
                rows["states"].append({**place, "state": state})
                for (view, metric), value, untouched in zip(cells(metrics), *numbers, strict=True):
                    cell = {"view": view, "metric": metric, "value": value, "untouched": untouched}
                    rows["metrics"].append({**place, **cell})
            kl, cross_entropy = damage(before, after, token_ids)
            moved = None if condition.kind == POSITIONS else 0.0 if condition.kind == UNTOUCHED else after.moved_mass
            dose = {"n_tokens": len(token_ids), "kl": kl, "cross_entropy": cross_entropy, "moved_mass": moved}
            dose |= {"n_massive": len(after.massive)}
            dose |= {"sink_moved": after is not before and sink_moved(before.received, after.received)}
            rows["doses"].append({**names, **of_model, **dose})
            advance(len(token_ids))
    return {name: pl.DataFrame(rows[name], schema=schema) for name, schema in SCHEMAS.items()}
