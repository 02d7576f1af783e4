"""The job of one model, variant and shard: what is asked for, less what an earlier run has computed."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.conditions import UNTOUCHED, conditions_of
from homogenization.interventions.intervened import Reviews, check_conditions, intervene
from homogenization.interventions.kept import STAMP, earlier_rows, in_order, stamp
from homogenization.interventions.schemas import SLOPES_SCHEMA
from homogenization.interventions.slopes import slopes_table
from homogenization.run.parquet import write_table
from homogenization.states.check import check_against_eager
from homogenization.states.long_texts import windows
from homogenization.states.model import LanguageModel

logger = logging.getLogger(__name__)

DEPTH_CELL = {"variant": "original", "view": "all_tokens", "metric": "cosine_anisotropy", "statistic": "steepest"}


def first_reviews(reviews: pl.DataFrame, originals: pl.DataFrame, n_reviews: int) -> pl.DataFrame:
    """Those of `reviews` whose original is among the first `n_reviews` of the shard, in their order."""
    return reviews.filter(pl.col("review_id").is_in(originals["review_id"].head(n_reviews).to_list()))


def steepest_depths(depth: pl.DataFrame, model: str) -> tuple[float, float] | None:
    """Depths between which the mean cosine of the originals grows fastest in a model; None where it never grows.

    Args:
        depth: tables/depth.parquet.
        model: name of the model.
    """
    found = depth.filter(model=model, **DEPTH_CELL).filter(pl.col("estimate").is_finite())
    return found.select("ci_low", "ci_high").row(0) if len(found) else None


def intervene_in_shard(
    model: LanguageModel,
    reviews: pl.DataFrame,
    identity: Mapping[str, str],
    chosen: Mapping[str, Any],
    token_budget: int,
    seed: int,
    code: str,
    paths: Mapping[str, str],
    depth: pl.DataFrame | None = None,
) -> None:
    """Write the tables of a shard: metrics, doses and slopes.

    Rows of an earlier run stay, condition by condition, where weights, texts, code and all else are the same.

    Args:
        model: language model, with its head, or encoder.
        reviews: columns review_id, text and original.
        identity: `model`, `variant` and `shard`.
        chosen: the section `interventions`, plain values.
        token_budget: most tokens of whole reviews in a pass.
        seed: seed of all draws.
        code: hash of the code.
        paths: files to write, which may hold earlier rows: `metrics`, `doses`, `slopes`.
        depth: tables/depth.parquet, where a condition needs it.

    Raises:
        HomogenizationError: conditions that the model can't be run in, an architecture that can't be honoured, states
            that are not finite, a review that does not fit into memory.
    """
    texts = [reviews[name].to_list() for name in ("review_id", "text", "original")]
    read = windows(model, *texts)
    steepest = None if depth is None else steepest_depths(depth, identity["model"])
    of_shard = Reviews(read.review_ids, read.tokens, seed, steepest=steepest)
    conditions = conditions_of(chosen)
    check_conditions(model, identity["model"], conditions, of_shard)
    provenance = {**model.provenance, **identity}
    same = {"code": code, "texts": texts, "seed": seed, "token_budget": token_budget, "states": provenance}
    stamps = stamp(**same, metrics=chosen["metrics"], steepest=steepest)
    keys = [condition.key for condition in conditions]
    kept = earlier_rows({name: paths[name] for name in ("metrics", "doses")}, stamps, keys)
    known = set(kept["doses"]["condition"]) if kept else set()
    new = [condition for condition in conditions if condition.key not in known or condition.kind == UNTOUCHED]
    logger.info("%d of %d conditions are known from an earlier run", len(known), len(conditions))
    if not known.issuperset(keys):
        if len(read.review_ids):
            check_against_eager(model.packed, int(read.tokens.lengths.max()), record_attention=False)
        made = intervene(model, of_shard, new, chosen["metrics"], identity, token_budget)
        # the untouched rows are there already, and the same
        fresh = [table.filter(~pl.col("condition").is_in(list(known))) for table in made]
        kept = {
            name: in_order([*([kept[name]] if kept else []), table], keys)
            for name, table in zip(("metrics", "doses"), fresh, strict=True)
        }
    slopes_stamp = stamp(**same, metrics=chosen["slopes"] and chosen["slopes"]["metrics"])
    slopes = _slopes(model, of_shard, chosen["slopes"], identity, paths["slopes"], slopes_stamp)
    for name in ("metrics", "doses"):
        write_table(kept[name], paths[name], {STAMP: stamps, "states": provenance})
    write_table(slopes, paths["slopes"], {STAMP: slopes_stamp, "states": provenance})


def _slopes(
    model: LanguageModel,
    reviews: Reviews,
    chosen: Mapping[str, Sequence[str]] | None,
    identity: Mapping[str, str],
    path: str,
    stamps: str,
) -> pl.DataFrame:
    """The table of slopes; the network is float64 afterwards where a pattern is new."""
    patterns = chosen["patterns"] if chosen else []
    kept = earlier_rows({"slopes": path}, stamps, patterns, "pattern")
    tables = [kept["slopes"]] if kept else []
    known = set(tables[0]["pattern"]) if tables else set()
    new = [pattern for pattern in patterns if pattern not in known]
    if new and len(reviews.names):
        tables.append(
            slopes_table(
                model.packed,
                reviews.names,
                np.split(reviews.tokens.token_ids, reviews.tokens.review_offsets[1:-1]),
                [seeded_hash(reviews.seed, name) for name in reviews.names],
                new,
                chosen["metrics"],
                identity,
            )
        )
    return in_order([pl.DataFrame(schema=SLOPES_SCHEMA), *tables], patterns, "pattern")
