"""The job of one model, variant and shard: reviews in every condition, less what an earlier run has computed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.interventions.cache import cache_key, update_tables
from homogenization.interventions.conditions import STEEPEST, UNTOUCHED, Condition
from homogenization.interventions.intervened import check_conditions, intervene
from homogenization.interventions.passes import Run
from homogenization.interventions.schedule import Pack
from homogenization.run.parquet import read_table
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
    steepest = depth.filter(model=model, **DEPTH_CELL).filter(pl.col("estimate").is_finite())
    return steepest.select("ci_low", "ci_high").row(0) if len(steepest) else None


@dataclass(frozen=True)
class Job:
    """What a model reads of a shard, and in which conditions.

    Attributes:
        reviews: the model, with its head, or an encoder, and what it reads.
        conditions: what is done, the untouched model first.
        metrics: names of the metrics, or none.
        identity: `model`, `variant` and `shard`.
        dependencies: what all rows depend on.
        cache_keys: for each condition, what its rows have to be computed with.
    """

    reviews: Pack
    conditions: Sequence[Condition]
    metrics: Sequence[str]
    identity: Mapping[str, str]
    dependencies: Mapping[str, Any]
    cache_keys: Mapping[str, str]

    @property
    def metadata(self) -> dict[str, Any]:
        """Provenance of the states, for the files."""
        return {"states": self.dependencies["states"]}


def job_of_shard(
    model: LanguageModel,
    inputs: Any,
    params: Any,
    reviews: pl.DataFrame,
    text: str,
) -> Job:
    """What a model reads in which conditions.

    Args:
        model: language model, with its head, or encoder.
        inputs: files: `depth`, the table, where a condition needs it.
        params: parameters of the rule: `model`, the entry; `shard`; `conditions`, the fields of each, the untouched
            model first; `metrics` of the tokens, or none; `seed` of all draws; `code`, a hash.
        reviews: columns review_id, text, original and rank.
        text: name of the variant.

    Raises:
        HomogenizationError: conditions that the model can't be run in.
    """
    name, seed = params.model["name"], params.seed
    conditions = [Condition(*fields) for fields in params.conditions]
    identity = {"model": name, "variant": text, "shard": params.shard}
    texts = [reviews[column].to_list() for column in ("review_id", "text", "original")]
    read = windows(model, *texts)
    steepest = steepest_depths(read_table(inputs.depth), name) if inputs.get("depth") else None
    whole = Pack(model.with_head, name, read.review_ids, read.tokens.by_review, seed, steepest)
    check_conditions(conditions, whole)
    states = {**model.provenance, **identity}
    files = [(file, (stat := Path(file).stat()).st_size, stat.st_mtime_ns) for file in inputs.get("weights", [])]
    dependencies = {"code": params.code, "texts": texts, "seed": seed, "states": states}
    dependencies |= {"model": params.model, "files": files}
    cache_keys = {
        condition.key: cache_key(
            **dependencies,
            metrics=params.metrics,
            steepest=steepest if condition.blocks == STEEPEST else None,
        )
        for condition in conditions
    }
    return Job(whole, conditions, params.metrics, identity, dependencies, cache_keys)


def run_new(
    model: LanguageModel,
    job: Job,
    known: Collection[str],
    further: Callable[[str, str, Run, int], None] | None = None,
) -> dict[str, pl.DataFrame]:
    """The tables `metrics` and `doses` of the conditions that are not `known`.

    Args:
        model: language model, with its head, or encoder.
        job: what it reads.
        known: keys of conditions.
        further: as in `intervene`; the untouched run is measured, known or not.
    """
    if len(job.reviews.names):
        check_against_eager(model.packed, max(job.reviews.lengths), record_attention=True)
    # doses are measured against the untouched model, whose rows may be there already
    new = [one for one in job.conditions if one.key not in known or one.kind == UNTOUCHED]
    made = intervene(job.reviews, new, job.metrics, job.identity, further=further)
    fresh = [table.filter(~pl.col("condition").is_in(list(known))) for table in made]
    return dict(zip(("metrics", "doses"), fresh, strict=True))


def run_shard(model: LanguageModel, inputs: Any, params: Any, paths: Mapping[str, str]) -> None:
    """Write the tables of a shard: metrics and doses.

    Rows of an earlier run stay, condition by condition, where weights, texts, code and all else are the same.

    Args:
        model: language model, with its head, or encoder.
        inputs: files: `variant`, `original`, and what `job_of_shard` reads.
        params: parameters of the rule: `variant`; `n_reviews`, by rank; and what `job_of_shard` reads.
        paths: files to write, which may hold earlier rows: `metrics`, `doses`.

    Raises:
        HomogenizationError: conditions that the model can't be run in, an architecture that can't be honoured, states
            that are not finite, a review that does not fit into memory.
    """
    reviews = first_reviews(read_table(inputs.variant), read_table(inputs.original), params.n_reviews)
    job = job_of_shard(model, inputs, params, reviews, params.variant)
    update_tables(paths, job.cache_keys, "condition", partial(run_new, model, job), job.metadata)
