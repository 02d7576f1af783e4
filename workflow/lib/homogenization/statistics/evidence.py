"""The statistics that claims are about, each measured on one model with its interval over reviews.

To add one, write a function of a claim, a model and the evidence here, decorate it with `claim_statistic`, and give it
its section in config/claims.py: a class of its keys, a field of `Claim` under the function's name, and that name in
`STATISTICS`. A claim reaches the function as `Claim.as_params()` returns it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.states.points import RESIDUAL_STREAM
from homogenization.statistics.correlation import pooled_pearson
from homogenization.statistics.layers import REGIONS, layer_steps, layer_values, slopes, steepest_depth
from homogenization.statistics.resampling import bootstrap_weights, mean_interval, resampled, sign_flips, weighted_means
from homogenization.tables.comparisons import too_few_accepted

Claim = Mapping[str, Any]

COMPONENT_GROUPS = {  # name in claims -> components of tables/components.parquet, whose changes are summed
    "residual": ("attention_addition", "feed_forward_addition", "addition"),
    "attention": ("attention",),
    "feed_forward": ("feed_forward",),
    "norm": ("norm_1", "norm_2"),
}
_OUTPUT_DEPTH = 1.0


class UnavailableError(Exception):
    """The study lacks what a claim is about; the message is the reason."""


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

    def weights(self, n: int) -> np.ndarray:
        """(draws, n) bootstrap weights of `n` reviews."""
        return _weights(n, self.draws, self.seed)

    def flips(self, n: int) -> np.ndarray:
        """(rows, n) signs of `n` reviews."""
        return _flips(n, self.draws, self.seed)


# most claims of a study are about the same number of reviews
_weights = lru_cache(maxsize=2)(bootstrap_weights)
_flips = lru_cache(maxsize=2)(sign_flips)


@dataclass(frozen=True)
class Measurement:
    """A statistic of one model.

    Attributes:
        estimate: value of the statistic.
        low: lower end of its interval over reviews; NaN where there is none.
        high: upper end of that interval.
        n_reviews: number of reviews behind it.
        values: (n_reviews,) float64 whose mean is the estimate, in the order of the reviews' names; None where the
            statistic is not a mean.
    """

    estimate: float
    low: float
    high: float
    n_reviews: int
    values: np.ndarray | None = None


ClaimStatistic = Callable[[Claim, str, Evidence], Measurement]
CLAIM_STATISTICS: dict[str, ClaimStatistic] = {}
WITHOUT_MODEL = ("similarity",)  # statistics of the texts alone, whatever the model


def claim_statistic(function: ClaimStatistic) -> ClaimStatistic:
    """Register a statistic under its name, the key in claims. It raises `UnavailableError` where data are missing."""
    CLAIM_STATISTICS[function.__name__] = function
    return function


def measure(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The statistic that `claim` is about.

    Raises:
        UnavailableError: the study does not have the variant, metric, view, point, layers or components, or too few
            reviews are accepted in the claim's variants.
    """
    named = [claim[role] for role in ("variant", "minus") if role in claim]
    if claim["statistic"] not in WITHOUT_MODEL and set(named) <= set(evidence.variants):
        few = too_few_accepted(evidence.similarity, named, evidence.n_reviews, evidence.min_reviews)
        if few is not None:
            raise UnavailableError(few)
    return CLAIM_STATISTICS[claim["statistic"]](claim, model, evidence)


@claim_statistic
def level(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The metric averaged over layers, and over reviews."""
    return _mean_over_reviews(_at_layers(_values(claim, model, claim["variant"], evidence), claim), evidence)


@claim_statistic
def contrast(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The difference of the metric between two variants of a review, averaged over layers, and over reviews."""
    variant, minus = (_values(claim, model, claim[role], evidence) for role in ("variant", "minus"))
    paired = variant.join(minus, on=("review_id", "layer"), suffix="_minus", maintain_order="left")
    difference = paired.with_columns(pl.col("value") - pl.col("value_minus"))
    if difference.is_empty():
        raise UnavailableError(f"no review has {claim['metric']} in both '{claim['variant']}' and '{claim['minus']}'")
    return _mean_over_reviews(_at_layers(difference, claim), evidence)


@claim_statistic
def slope(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The slope of the least-squares line of a review's metric over depth, averaged over reviews."""
    job = layer_values(_values(claim, model, claim["variant"], evidence))
    by_review = pl.DataFrame({"review_id": job.review_ids, "value": slopes(job.values[0], job.depth)})
    return _mean_over_reviews(by_review, evidence)


@claim_statistic
def steepest(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The depth at which the metric's mean over reviews changes fastest towards homogenization."""
    job = layer_values(_values(claim, model, claim["variant"], evidence))
    steps = layer_steps(job.values[0], job.layers, job.depth)
    direction = describe_metric(claim["metric"]).homogenization
    found = _of_draws(lambda weights: steepest_depth(steps, direction, weights), len(job.review_ids), evidence)
    if np.isnan(found.estimate):
        raise UnavailableError(f"{claim['metric']} moves towards homogenization between no two layers")
    return found


@claim_statistic
def correlation(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The Pearson correlation of two metrics over reviews and layers."""
    other = claim["with_metric"]
    second = {**claim, "metric": other, "view": (describe_metric(other).views or VIEWS)[0]}
    rows = [_values(one, model, claim["variant"], evidence) for one in (claim, second)]
    job = layer_values(pl.concat(rows))
    x, y = (job.of(one["view"], one["metric"]) for one in (claim, second))
    counted = ~np.isnan(x + y).all(axis=1)
    if not counted.any():
        raise UnavailableError(f"no review has {claim['metric']} and {other} at the same layer")
    x, y = x[counted], y[counted]
    found = _of_draws(lambda weights: pooled_pearson(x, y, weights), len(x), evidence)
    if np.isnan(found.estimate):
        raise UnavailableError(f"{claim['metric']} or {other} is the same everywhere")
    return found


@claim_statistic
def component(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The lead of the named components of a block over all others.

    It is the smallest mean contribution of a named one less the largest of another, averaged over layers and reviews.
    """
    contributions = _contributions(claim, model, evidence)
    groups = contributions.columns[1:]
    missing = [name for name in claim["largest"] if name not in groups]
    others = [name for name in groups if name not in claim["largest"]]
    if missing or not others:
        lacking = f"no component '{missing[0]}'" if missing else "no other component"
        raise UnavailableError(f"the model's blocks have {lacking}")
    named = [groups.index(name) for name in claim["largest"]]
    rest = [groups.index(name) for name in others]
    values = contributions.select(groups).to_numpy()

    def lead(weights: np.ndarray) -> np.ndarray:
        means = weighted_means(values, weights)
        return means[:, named].min(axis=1) - means[:, rest].max(axis=1)

    return _of_draws(lead, len(values), evidence)


@claim_statistic
def similarity(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """BERTScore F1 of a variant over all its reviews, accepted or not, because acceptance selects by F1."""
    scores = evidence.similarity.filter(pl.col("variant") == claim["variant"])
    if scores.is_empty() and claim["variant"] in evidence.variants:
        raise UnavailableError(f"no review was rewritten as '{claim['variant']}'")
    if scores.is_empty():
        raise UnavailableError(f"the study has no similarity of a variant '{claim['variant']}'")
    return _mean_over_reviews(scores.select("review_id", pl.col("f1").alias("value")), evidence)


def _values(claim: Claim, model: str, variant: str, evidence: Evidence) -> pl.DataFrame:
    """review_id, layer, depth, view, metric, value of the claim's metric, without NaN, sorted."""
    point = claim.get("point", RESIDUAL_STREAM)
    rows = evidence.metrics.filter(pl.col("model") == model)
    for column, value, lacking in (
        ("metric", claim["metric"], f"no metric {claim['metric']}"),
        ("variant", variant, f"no variant '{variant}'"),
        ("view", claim["view"], f"no view '{claim['view']}' of {claim['metric']}"),
        ("point", point, f"no values of {claim['metric']} at {point}"),
    ):
        rows = rows.filter(pl.col(column) == value)
        if rows.is_empty():
            raise UnavailableError(f"the study has {lacking}")
    rows = rows.filter(pl.col("value").is_not_nan()).sort("review_id", "layer")
    if rows.is_empty():
        raise UnavailableError(f"{claim['metric']} is undefined in every review")
    return rows.select("review_id", "layer", "depth", "view", "metric", "value")


def _at_layers(rows: pl.DataFrame, claim: Claim) -> pl.DataFrame:
    """review_id and value, the mean over the claim's layers, in the order of `rows`."""
    chosen = rows.filter(_layers(claim["layers"]))
    if chosen.is_empty():
        raise UnavailableError(f"the study has no values of {claim['metric']} at the layers '{claim['layers']}'")
    return chosen.group_by("review_id", maintain_order=True).agg(pl.col("value").mean())


def _layers(name: str) -> pl.Expr:
    """Whether a row's layer is one of those that a claim calls `name`."""
    depth = pl.col("depth")
    if name in REGIONS:
        low, high = REGIONS[name]
        return (depth >= low) & (depth < high)
    return {"all": pl.lit(True), "input": pl.col("layer") == 0, "output": depth >= _OUTPUT_DEPTH}[name]


def _contributions(claim: Claim, model: str, evidence: Evidence) -> pl.DataFrame:
    """review_id, and the mean contribution over layers of each group of components in the model, a column each."""
    if evidence.components is None:
        raise UnavailableError("the study takes no blocks apart")
    rows = evidence.components.filter(
        pl.col("model") == model,
        pl.col("variant") == claim["variant"],
        pl.col("metric") == claim["metric"],
        pl.col("view") == claim["view"],
    )
    if rows.is_empty():
        raise UnavailableError(f"the study takes no blocks of this model apart on the variant '{claim['variant']}'")
    group_of = {name: group for group, names in COMPONENT_GROUPS.items() for name in names}
    return (
        rows.with_columns(pl.col("component").replace_strict(group_of).alias("group"))
        .group_by("review_id", "layer", "group")
        .agg(pl.col("change").sum())
        .filter(pl.col("change").is_not_nan())
        .sort("review_id", "layer")  # sums in another order round differently
        .pivot("group", index="review_id", values="change", aggregate_function="mean", sort_columns=True)
        .fill_null(np.nan)
    )


def _mean_over_reviews(by_review: pl.DataFrame, evidence: Evidence) -> Measurement:
    """The mean of `value` over rows, one for each review, with its BCa interval."""
    values = by_review.drop_nulls("value").filter(pl.col("value").is_not_nan()).sort("review_id")["value"].to_numpy()
    if not len(values):
        raise UnavailableError("undefined in every review")
    low, high = mean_interval(values[:, None], evidence.weights(len(values)), evidence.confidence)
    return Measurement(float(values.mean()), float(low[0]), float(high[0]), len(values), values)


def _of_draws(statistic: Callable[[np.ndarray], np.ndarray], n: int, evidence: Evidence) -> Measurement:
    """A statistic of weights of `n` reviews, with its percentile interval."""
    return Measurement(*resampled(statistic, evidence.weights(n), evidence.confidence), n)
