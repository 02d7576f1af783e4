"""What claims are judged by: the tables of a study, and what a statistic finds in them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from homogenization.inference.layers import depth_ranges
from homogenization.inference.resampling import bootstrap_weights, mean_interval, resampled, sign_flips
from homogenization.inference.robust import INFLUENTIAL, hodges_lehmann, without_influential
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.vocabulary.verdicts import POOLS, REVIEWS

Claim = Mapping[str, Any]

POOLED_VIEW = "pooled_centred"
ROBUST, KEPT = "robust", "kept"
_THESIS = "thesis"
_INFLUENTIAL_LEAST = 2  # reviews that have to stay


class UnavailableError(Exception):
    """The study lacks what a claim is about; the message is the reason."""


@dataclass(frozen=True)
class Interval:
    """An estimate between the ends of its interval; NaN where it has none."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Measurement:
    """A statistic of one model.

    Attributes:
        found: the statistic and its interval.
        n: number of reviews or pools behind it.
        unit: `REVIEWS`, `POOLS` or `SEEDS`.
        values: (n,) float64 whose mean is the estimate, in the order of the reviews' names; None where the statistic is
            not a mean over reviews.
        checks: the statistic estimated in other ways: `ROBUST` where it has a robust form, and `KEPT`.
        depth_range: what depth does to the metric, in units of the statistic; NaN where it is no difference or change.
        without_first: the statistic with the first token left out; NaN where it is not compared.
        beyond: the statistic less the same with the first token left out; None where it is not compared.
        note: what a reader of the verdict has to know of the reviews, in words; None where there is nothing.
    """

    found: Interval
    n: int
    unit: str = REVIEWS
    values: np.ndarray | None = None
    checks: Mapping[str, Interval] = field(default_factory=dict)
    depth_range: float = np.nan
    without_first: float = np.nan
    beyond: Interval | None = None
    note: str | None = None


@dataclass(frozen=True)
class Evidence:
    """The tables and settings that claims are judged by.

    Attributes:
        metrics: tables/metrics.parquet.
        similarity: tables/similarity.parquet.
        components: tables/components.parquet; None where no block was taken apart.
        draws: number of bootstrap draws, and of sign flips, of the reviews.
        confidence: level of the intervals, between 0 and 1.
        seed: seed of the draws.
        variants: names of the study's variants.
        n_reviews: reviews of the sample.
        min_reviews: fewest accepted reviews of rewritten variants with which a claim about these is tested.
        margin: share of what depth does to a metric, within which a difference is negligible.
        pooled: tables/pooled.parquet (`POOLED_METRICS_SCHEMA`); None where tokens are not pooled.
        intervened: tables/intervened.parquet; None where no attention was changed.
        consequences: tables/consequences.parquet; None where the study has no such section.
        trained: [model, arm, seed, step] of each trained model.
        training: the table `training`; None where the study trains no model.
        extrema: tables/extrema.parquet; None where the study looks for none.
    """

    metrics: pl.DataFrame
    similarity: pl.DataFrame
    components: pl.DataFrame | None
    draws: int
    confidence: float
    seed: int
    variants: Sequence[str]
    n_reviews: int
    min_reviews: int
    margin: float
    pooled: pl.DataFrame | None = None
    intervened: pl.DataFrame | None = None
    consequences: pl.DataFrame | None = None
    trained: Sequence[Sequence[Any]] = ()
    training: pl.DataFrame | None = None
    extrema: pl.DataFrame | None = None

    def weights(self, n: int) -> np.ndarray:
        """(draws, n) bootstrap weights of `n` reviews."""
        return _weights(n, self.draws, self.seed)

    def flips(self, n: int) -> np.ndarray:
        """(rows, n) signs of `n` reviews."""
        return _flips(n, self.draws, self.seed)

    @cached_property
    def pools(self) -> pl.DataFrame | None:
        """`pooled` as the table of metrics: a pool in place of a review, and the output after the final norm."""
        if self.pooled is None:
            return None
        last = pl.col("point") == FINAL_NORM
        after_norm = self.pooled.filter(last).with_columns(pl.lit(RESIDUAL_STREAM).alias("point"))
        keys = ["model", "variant", "shard", "layer", "view", "metric"]
        before = self.pooled.filter(~last).join(after_norm, on=keys, how="anti")
        rows = pl.concat([before, after_norm.select(before.columns)]).rename({"shard": "review_id"})
        return rows.filter(pl.col("view") == POOLED_VIEW)

    def depth_range(self, model: str, view: str, metric: str, pooled: bool = False) -> float:
        """What depth does to a metric in a model (`layers.depth_ranges`); NaN where the study lacks it."""
        return self._depth_ranges[pooled].get((model, view, metric), np.nan)

    @cached_property
    def _depth_ranges(self) -> list[dict[tuple[str, ...], float]]:
        tables = [self.metrics, self.pools if self.pools is not None else self.metrics.clear()]
        return [{tuple(key): size for *key, size in depth_ranges(table).rows()} for table in tables]


# most claims of a study are about the same number of reviews, or about those without the most influential
_weights = lru_cache(maxsize=4)(bootstrap_weights)
_flips = lru_cache(maxsize=2)(sign_flips)


def is_pooled(claim: Claim) -> bool:
    """Whether a claim is about the tokens of many texts in one centred matrix."""
    return claim["convention"] == _THESIS


def without_first(claim: Claim) -> Claim | None:
    """The claim with the first token left out of its metric; None where it is already, or there is no such view."""
    view = "without_first" if claim["view"] == "all_tokens" else f"{claim['view']}_without_first"
    return {**claim, "view": view} if view in (describe_metric(claim["metric"]).views or VIEWS) else None


def values_of(claim: Claim, model: str, variant: str, evidence: Evidence) -> pl.DataFrame:
    """review_id, layer, depth, view, metric, value of the claim's metric, without NaN, sorted.

    Raises:
        UnavailableError: the study lacks the metric, variant, view or point.
    """
    pooled = is_pooled(claim)
    table = evidence.pools if pooled else evidence.metrics
    if table is None:
        raise UnavailableError("the study does not pool the tokens of its texts")
    if variant.endswith(" control"):
        raise UnavailableError(f"the study has no {variant} of '{claim['variant']}'")
    point, view = claim.get("point", RESIDUAL_STREAM), POOLED_VIEW if pooled else claim["view"]
    rows = table.filter(pl.col("model") == model)
    for column, value, lacking in (
        ("metric", claim["metric"], f"no metric {claim['metric']}"),
        ("variant", variant, f"no variant '{variant}'"),
        ("view", view, f"no view '{view}' of {claim['metric']}"),
        ("point", point, f"no values of {claim['metric']} at {point}"),
    ):
        rows = rows.filter(pl.col(column) == value)
        if rows.is_empty():
            raise UnavailableError(f"the study has {lacking}{' of pooled tokens' if pooled else ''}")
    rows = rows.filter(pl.col("value").is_not_nan()).sort("review_id", "layer")
    if rows.is_empty():
        raise UnavailableError(f"{claim['metric']} is undefined in every review")
    return rows.select("review_id", "layer", "depth", "view", "metric", "value")


def mean_over_reviews(by_review: pl.DataFrame, evidence: Evidence, depth_range: float = np.nan) -> Measurement:
    """The mean of `value` over rows, one for each review, with its BCa interval and its checks."""
    values = _present(by_review)
    low, high = mean_interval(values[:, None], evidence.weights(len(values)), evidence.confidence)
    found = Interval(float(values.mean()), float(low[0]), float(high[0]))
    return checked(found, values, evidence, depth_range)


def checked(found: Interval, values: np.ndarray, evidence: Evidence, depth_range: float = np.nan) -> Measurement:
    """A statistic that is the mean of `values`, one for each review, with its checks."""
    checks = {
        ROBUST: _first_cell(hodges_lehmann(values[:, None], evidence.confidence)),
        KEPT: _first_cell(without_influential(values[:, None], evidence.confidence)),
    }
    return Measurement(found, len(values), REVIEWS, values, checks, depth_range)


def mean_over_pools(by_pool: pl.DataFrame, evidence: Evidence, depth_range: float = np.nan) -> Measurement:
    """The mean of `value` over rows, one for each pool, with Student's interval; NaN for one pool."""
    return mean_with_t_interval(_present(by_pool), evidence, POOLS, depth_range)


def mean_with_t_interval(values: np.ndarray, evidence: Evidence, unit: str, depth_range: float) -> Measurement:
    """The mean of `values`, one for each `unit`, with Student's interval; NaN for one."""
    interval = without_influential(values[:, None], evidence.confidence, share=0.0)
    return Measurement(_first_cell(interval), len(values), unit, depth_range=depth_range)


def _present(by_review: pl.DataFrame) -> np.ndarray:
    values = by_review.drop_nulls("value").filter(pl.col("value").is_not_nan()).sort("review_id")["value"].to_numpy()
    if not len(values):
        raise UnavailableError("undefined in every review")
    return values


def _first_cell(estimates: tuple[np.ndarray, ...]) -> Interval:
    return Interval(*(float(column[0]) for column in estimates))


# indices of reviews -> a function of their weights (draws, reviews), (draws,)
OfReviews = Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]]


def over_reviews(make: OfReviews, n: int, evidence: Evidence, depth_range: float = np.nan) -> Measurement:
    """A statistic of `n` reviews that is no mean, with its percentile interval and its check `KEPT`."""
    every = np.arange(n)
    found = Interval(*resampled(make(every), evidence.weights(n), evidence.confidence))
    stay = _least_influential(make(every), n)
    checks = {KEPT: Interval(*resampled(make(stay), evidence.weights(len(stay)), evidence.confidence))}
    return Measurement(found, n, REVIEWS, checks=checks if len(stay) < n else {}, depth_range=depth_range)


def _least_influential(statistic: Callable[[np.ndarray], np.ndarray], n: int) -> np.ndarray:
    """The reviews without which a statistic moves least, sorted: all but the `INFLUENTIAL` share, rounded up."""
    if n - np.ceil(INFLUENTIAL * n) < _INFLUENTIAL_LEAST:
        return np.arange(n)
    without_each = statistic((1 - np.eye(n)) / (n - 1))
    moved = np.nan_to_num(np.abs(without_each - statistic(np.full((1, n), 1 / n))), nan=np.inf)
    order = np.argsort(-moved, kind="stable")
    return np.sort(order[int(np.ceil(INFLUENTIAL * n)) :])


def over_pools(statistic: Callable[[np.ndarray], np.ndarray], n: int) -> Measurement:
    """A statistic of `n` pools that is no mean, from its least to its greatest value of a single pool."""
    estimate = float(statistic(np.full((1, n), 1 / n))[0])
    single = statistic(np.eye(n))
    low, high = (float(np.nanmin(single)), float(np.nanmax(single))) if n > 1 else (np.nan, np.nan)
    return Measurement(Interval(estimate, low, high), n, POOLS)
