"""The job of one model, variant and shard: what is asked for, less what an earlier run has computed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.conditions import STEEPEST, TEMPLATE, UNTOUCHED, Condition
from homogenization.interventions.intervened import Reviews, check_conditions, intervene
from homogenization.interventions.kept import STAMP, earlier_rows, in_order, stamp, with_earlier
from homogenization.interventions.schemas import DELIVERED_SCHEMA, SLOPES_SCHEMA
from homogenization.interventions.slopes import slopes_tables
from homogenization.interventions.templates import templates_of_reviews
from homogenization.run.parquet import write_table
from homogenization.states.check import check_against_eager
from homogenization.states.long_texts import windows, with_originals
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
    found = depth.filter(model=model, **DEPTH_CELL).filter(pl.col("estimate").is_finite())
    return found.select("ci_low", "ci_high").row(0) if len(found) else None


@dataclass(frozen=True)
class Asked:
    """What is asked of a shard.

    Attributes:
        reviews: what the model reads.
        conditions: what is done, the untouched model first.
        metrics: names of the metrics, or none.
        identity: `model`, `variant` and `shard`.
        token_budget: most tokens of whole reviews in a pass.
        same: what all rows depend on.
        stamps: for each condition, what its rows have to be computed with.
    """

    reviews: Reviews
    conditions: Sequence[Condition]
    metrics: Sequence[str]
    identity: Mapping[str, str]
    token_budget: int
    same: Mapping[str, Any]
    stamps: Mapping[str, str]


def asked_of_shard(
    model: LanguageModel,
    reviews: pl.DataFrame,
    identity: Mapping[str, str],
    conditions: Sequence[Condition],
    metrics: Sequence[str],
    token_budget: int,
    seed: int,
    code: str,
    depth: pl.DataFrame | None = None,
    positional: pl.DataFrame | None = None,
) -> Asked:
    """What a model reads in which conditions.

    Args:
        model: language model, with its head, or encoder.
        reviews: columns review_id, text and original; for a template also rank.
        identity: `model`, `variant` and `shard`.
        conditions: what is done, the untouched model first.
        metrics: metrics of the tokens, or none.
        token_budget: most tokens of whole reviews in a pass.
        seed: seed of all draws.
        code: hash of the code.
        depth: tables/depth.parquet, where a condition needs it.
        positional: attention to positions in the originals, of all shards of this model, where a condition needs it.

    Raises:
        HomogenizationError: conditions that the model can't be run in.
    """
    texts = [reviews[name].to_list() for name in ("review_id", "text", "original")]
    read = windows(model, *texts)
    steepest = None if depth is None else steepest_depths(depth, identity["model"])
    templates, of_templates = None, None
    if positional is not None:
        ranks = dict(reviews.select("review_id", "rank").iter_rows())
        templates = templates_of_reviews(positional, [ranks[name] for name in read.review_ids])
        of_templates = positional.write_csv()
    of_shard = Reviews(read.review_ids, read.tokens, seed, templates, steepest)
    check_conditions(model, identity["model"], conditions, of_shard)
    provenance = {**model.provenance, **identity}
    same = {"code": code, "texts": texts, "seed": seed, "token_budget": token_budget, "states": provenance}
    stamps = {
        condition.key: stamp(
            **same,
            metrics=metrics,
            steepest=steepest if condition.blocks == STEEPEST else None,
            templates=of_templates if condition.kind == TEMPLATE else None,
        )
        for condition in conditions
    }
    return Asked(of_shard, conditions, metrics, identity, token_budget, same, stamps)


def run_new(
    model: LanguageModel, asked: Asked, known: Collection[str], also: Callable[..., None] | None = None
) -> dict[str, pl.DataFrame]:
    """The tables `metrics` and `doses` of the conditions that are not `known`.

    Args:
        model: language model, with its head, or encoder.
        asked: what is asked of the shard.
        known: keys of conditions.
        also: as in `intervene`; it may be called of the untouched run, known or not.
    """
    if len(asked.reviews.names):
        check_against_eager(model.packed, int(asked.reviews.tokens.lengths.max()), record_attention=True)
    # doses are measured against the untouched model, whose rows may be there already
    new = [one for one in asked.conditions if one.key not in known or one.kind == UNTOUCHED]
    made = intervene(model, asked.reviews, new, asked.metrics, asked.identity, asked.token_budget, also)
    fresh = [table.filter(~pl.col("condition").is_in(list(known))) for table in made]
    return dict(zip(("metrics", "doses"), fresh, strict=True))


def intervene_in_shard(
    model: LanguageModel, asked: Asked, slopes: Mapping[str, Sequence[str]] | None, paths: Mapping[str, str]
) -> None:
    """Write the tables of a shard: metrics, doses, slopes, and what patterns deliver.

    Rows of an earlier run stay, condition by condition, where weights, texts, code and all else are the same.

    Args:
        model: language model, with its head, or encoder.
        asked: what is asked of the shard.
        slopes: `patterns` and `metrics` whose slopes are taken, or None.
        paths: files to write, which may hold earlier rows: `metrics`, `doses`, `slopes`, `delivered`.

    Raises:
        HomogenizationError: an architecture that can't be honoured, states that are not finite, a review that does not
            fit into memory.
    """
    of_conditions = {name: paths[name] for name in ("metrics", "doses")}
    written = with_earlier(of_conditions, asked.stamps, "doses", partial(run_new, model, asked))
    for name, table in written.items():
        write_table(table, paths[name], {STAMP: asked.stamps, "states": asked.same["states"]})
    measured = slopes or {"patterns": [], "metrics": []}
    of_slopes = dict.fromkeys(measured["patterns"], stamp(**asked.same, metrics=measured["metrics"]))
    tables = _slopes(model, asked, measured["metrics"], paths, of_slopes)
    for name, table in tables.items():
        write_table(table, paths[name], {STAMP: of_slopes, "states": asked.same["states"]})


def _slopes(
    model: LanguageModel, asked: Asked, metrics: Sequence[str], paths: Mapping[str, str], stamps: Mapping[str, str]
) -> dict[str, pl.DataFrame]:
    """The tables `slopes` and `delivered` of the patterns in `stamps`; a new one leaves the network in float64."""
    reviews = asked.reviews
    schemas = {"slopes": SLOPES_SCHEMA, "delivered": DELIVERED_SCHEMA}
    kept = earlier_rows({name: paths[name] for name in schemas}, stamps, "pattern")
    tables = {name: [pl.DataFrame(schema=schema), *([kept[name]] if kept else [])] for name, schema in schemas.items()}
    new = [pattern for pattern in stamps if pattern not in set(tables["slopes"][-1]["pattern"])]
    if new and len(reviews.names):
        draws = [seeded_hash(reviews.seed, name) for name in reviews.names]
        made = slopes_tables(model.packed, reviews.names, reviews.tokens.by_review, draws, new, metrics, asked.identity)
        for name, table in zip(schemas, made, strict=True):
            tables[name].append(table)
    return {name: in_order(parts, list(stamps), "pattern") for name, parts in tables.items()}
