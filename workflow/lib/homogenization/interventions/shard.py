"""The job of one model, variant, condition and shard: its reviews, read in the condition and untouched."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from homogenization.interventions.conditions import Condition
from homogenization.interventions.intervened import check_condition, intervene
from homogenization.interventions.schedule import Reviews
from homogenization.run.parquet import read_table, write_table
from homogenization.states.long_texts import Texts, tokens_read, with_originals
from homogenization.states.model import LanguageModel

DEPTH_CELL = {"variant": "original", "view": "all_tokens", "metric": "cosine_anisotropy", "statistic": "steepest"}


def first_reviews(reviews: pl.DataFrame, originals: pl.DataFrame, n_reviews: int) -> pl.DataFrame:
    """Those of `reviews` whose original is among the first `n_reviews` of the shard, with `original` and `rank`.

    Args:
        reviews: a variant: columns review_id and text.
        originals: the shard of the corpus: columns review_id, text and rank.
        n_reviews: number of reviews, by rank.
    """
    first = originals.sort("rank").head(n_reviews).select("review_id", "rank")
    return with_originals(reviews, originals).join(first, on="review_id", maintain_order="left")


def steepest_depths(depth: pl.DataFrame, model: str) -> tuple[float, float] | None:
    """Depths between which the mean cosine of the originals grows fastest in a model; None where it never grows.

    Args:
        depth: tables/depth.parquet.
        model: name of the model.
    """
    steepest = depth.filter(model=model, **DEPTH_CELL).filter(pl.col("estimate").is_finite())
    return steepest.select("ci_low", "ci_high").row(0) if len(steepest) else None


def run_shard(model: LanguageModel, inputs: Any, params: Any, paths: Mapping[str, str]) -> None:
    """Write the tables of a shard in one condition.

    Args:
        model: language model, with its head, or encoder.
        inputs: files: `variant`, `original`, and `depth`, the table, where the condition needs it.
        params: parameters of the rule: `model`, the entry; `variant`; `shard`; `condition`, its fields; `metrics` of
            the tokens; `n_reviews`, by rank; `seed` of all draws.
        paths: files to write: `metrics`, `doses`, and `states` where pooled states are wanted.

    Raises:
        HomogenizationError: a condition that the model can't be run in, an architecture that can't be honoured, or
            states that are not finite.
    """
    name, condition = params.model["name"], Condition(*params.condition)
    reviews = first_reviews(read_table(inputs.variant), read_table(inputs.original), params.n_reviews)
    texts = Texts(*(reviews[column].to_list() for column in ("review_id", "text", "original")))
    review_ids, tokens = tokens_read(model, texts)
    steepest = steepest_depths(read_table(inputs.depth), name) if inputs.get("depth") else None
    whole = Reviews(model.with_head, name, review_ids, tokens.by_review, params.seed, steepest)
    check_condition(condition, whole)
    identity = {"model": name, "variant": params.variant, "shard": params.shard}
    tables = intervene(whole, condition, params.metrics, identity)._asdict()
    for table, path in paths.items():
        write_table(tables[table], path, {"states": {**model.provenance, **identity}})
