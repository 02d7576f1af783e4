"""The statistics that claims are about, each measured on one model with its interval over reviews.

To add one, write a function of a claim, a model and the evidence here, decorate it with `claim_statistic`, and give it
its section in config/claims.py: a class of its keys, a field of `Claim` under the function's name, and that name in
`STATISTICS`. A claim reaches the function as `Claim.as_params()` returns it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from homogenization.claims.arm_evidence import measure_arms
from homogenization.claims.consequence_evidence import measure_consequence
from homogenization.claims.evidence import (
    POOLED_VIEW,
    ROBUST,
    Claim,
    Evidence,
    Interval,
    Measurement,
    UnavailableError,
    is_pooled,
    mean_over_pools,
    mean_over_reviews,
    over_pools,
    over_reviews,
    values_of,
    without_first,
)
from homogenization.claims.extremum_evidence import measure_extremum
from homogenization.claims.intervention_evidence import measure_intervention
from homogenization.inference.correlation import pearson_within_layers, spearman_within_layers
from homogenization.inference.layers import layer_steps, layer_values, slopes, steepest_span
from homogenization.inference.resampling import resampled, weighted_means
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.tables.comparisons import too_few_accepted
from homogenization.tables.regions import at_layers
from homogenization.vocabulary.variants import ORIGINAL
from homogenization.vocabulary.verdicts import POOLS, REVIEWS

COMPONENT_GROUPS = {  # name in claims -> components of tables/components.parquet, whose changes are summed
    "residual": ("attention_addition", "feed_forward_addition", "addition"),
    "attention": ("attention",),
    "feed_forward": ("feed_forward",),
    "norm": ("norm_1", "norm_2"),
}
_STREAM_OF = {  # metric and view of a component -> those of tables/metrics.parquet
    ("singular_anisotropy", "all_tokens"): ("max_explainable_variance", "raw"),
    ("singular_anisotropy", "without_first"): ("max_explainable_variance", "raw_without_first"),
    ("singular_anisotropy", "centred"): ("max_explainable_variance", "centred"),
}
_RANK_DRAWS = 2000  # every draw is ranked anew; with this many draws the ends of an interval are steady

ClaimStatistic = Callable[[Claim, str, Evidence], Measurement]
CLAIM_STATISTICS: dict[str, ClaimStatistic] = {}
WITHOUT_MODEL = ("similarity", "arms")  # statistics of the texts alone, or of several models


def claim_statistic(function: ClaimStatistic) -> ClaimStatistic:
    """Register a statistic under its name, the key in claims. It raises `UnavailableError` where data are missing."""
    CLAIM_STATISTICS[function.__name__] = function
    return function


def measure(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The statistic that `claim` is about.

    Raises:
        UnavailableError: the study does not have the variant, metric, view, point, layers or components, or too few
            reviews are accepted in the claim's variants, or are read in them by the model.
    """
    # an intervention is less a pattern, which may bear a variant's name
    read_otherwise = claim["statistic"] in ("intervention", "consequence", "arms")
    roles = ("variant",) if read_otherwise else ("variant", "minus")
    named = [claim[role] for role in roles if role in claim]
    if claim["statistic"] not in WITHOUT_MODEL and set(named) <= set(evidence.variants):
        few = too_few_accepted(evidence.similarity, named, evidence.n_reviews, evidence.min_reviews)
        if few is not None:
            raise UnavailableError(few)
    found = CLAIM_STATISTICS[claim["statistic"]](claim, model, evidence)
    if found.unit == REVIEWS and set(named) - {ORIGINAL} and found.n < evidence.min_reviews:
        raise UnavailableError(f"{found.n} accepted reviews are read; at least {evidence.min_reviews} are needed")
    return found


@claim_statistic
def level(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The metric averaged over layers, and over reviews."""
    rows = values_of(claim, model, claim["variant"], evidence)
    if claim["squared"]:
        rows = rows.with_columns(pl.col("value") ** 2)
    return _mean(_at_layers(rows, claim), claim, evidence)


@claim_statistic
def contrast(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The difference of the metric between two variants of a review, averaged over layers, and over reviews."""
    variant, minus = (values_of(claim, model, claim[role], evidence) for role in ("variant", "minus"))
    paired = variant.join(minus, on=("review_id", "layer"), suffix="_minus", maintain_order="left")
    difference = paired.with_columns(pl.col("value") - pl.col("value_minus"))
    if difference.is_empty():
        raise UnavailableError(f"no review has {claim['metric']} in both '{claim['variant']}' and '{claim['minus']}'")
    return _mean(_at_layers(difference, claim), claim, evidence, _depth_range(claim, model, evidence))


@claim_statistic
def slope(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The slope of the least-squares line of a review's metric over depth, averaged over reviews."""
    job = layer_values(values_of(claim, model, claim["variant"], evidence))
    by_review = pl.DataFrame({"review_id": job.review_ids, "value": slopes(job.values[0], job.depth)})
    return _mean(by_review, claim, evidence, _depth_range(claim, model, evidence))


@claim_statistic
def steepest(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The step in which the metric's mean over reviews changes fastest towards homogenization: where it lies."""
    job = layer_values(values_of(claim, model, claim["variant"], evidence))
    steps = layer_steps(job.values[0], job.layers, job.depth)
    direction, n = describe_metric(claim["metric"]).homogenization, len(job.review_ids)
    drawn = (np.eye(n), 1.0) if is_pooled(claim) else (evidence.weights(n), evidence.confidence)
    found = Interval(*steepest_span(steps, direction, *drawn))
    if np.isnan(found.estimate):
        raise UnavailableError(f"{claim['metric']} moves towards homogenization between no two layers")
    if is_pooled(claim) and n == 1:
        found = Interval(found.estimate, np.nan, np.nan)
    return Measurement(found, n, POOLS if is_pooled(claim) else REVIEWS)


@claim_statistic
def peak(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The layer at which the metric's mean over reviews is largest: its depth, or the mean there."""
    job = layer_values(values_of(claim, model, claim["variant"], evidence))
    values, n = job.values[0], len(job.review_ids)

    def of(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        def highest(weights: np.ndarray) -> np.ndarray:
            means = np.nan_to_num(weighted_means(values[rows], weights), nan=-np.inf)
            return means.max(axis=1) if claim["of"] == "height" else job.depth[means.argmax(axis=1)]

        return highest

    every = np.arange(n)
    if is_pooled(claim):
        return over_pools(of(every), n)
    if claim["of"] == "height":
        return over_reviews(of, n, evidence)
    # a place moves in jumps: which draws find another one says all that single reviews could
    return Measurement(Interval(*resampled(of(every), evidence.weights(n), evidence.confidence)), n)


@claim_statistic
def extremum(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """How far the most prominent peak or trough stands out, where it is, or what the first token has to do with it."""
    return measure_extremum(claim, model, evidence)


@claim_statistic
def correlation(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The Pearson correlation of two metrics over reviews within a layer, averaged over layers.

    It is compared with that of the same metric without the first token, where the metric has such a view.
    """
    other = claim["with_metric"]
    second = {**claim, "metric": other, "view": (describe_metric(other).views or VIEWS)[0]}
    bare = without_first(claim)
    sides = [claim, second, *([bare] if bare else [])]
    job = layer_values(pl.concat([values_of(one, model, claim["variant"], evidence) for one in sides]))
    x, y, *rest = (job.of(one["view"], one["metric"]) for one in sides)
    counted = ~np.isnan(x + y).all(axis=1)
    if not counted.any():
        raise UnavailableError(f"no review has {claim['metric']} and {other} at the same layer")
    x, y, *rest = (values[counted] for values in (x, y, *rest))
    n = len(x)
    found = over_reviews(lambda rows: partial(pearson_within_layers, x[rows], y[rows]), n, evidence)
    if np.isnan(found.found.estimate):
        raise UnavailableError(f"{claim['metric']} or {other} is the same in every review")
    ranked = resampled(partial(spearman_within_layers, x, y), evidence.weights(n)[:_RANK_DRAWS], evidence.confidence)
    found = replace(found, checks={ROBUST: Interval(*ranked), **found.checks})
    if not rest:
        return found

    def beyond(weights: np.ndarray) -> np.ndarray:
        return pearson_within_layers(x, y, weights) - pearson_within_layers(rest[0], y, weights)

    difference = Interval(*resampled(beyond, evidence.weights(n), evidence.confidence))
    return replace(found, without_first=found.found.estimate - difference.estimate, beyond=difference)


@claim_statistic
def component(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The lead of the named components of a block over all others.

    It is the smallest mean contribution of a named one less the largest of another, averaged over layers and reviews.
    """
    contributions, n_blocks = _contributions(claim, model, evidence)
    groups = contributions.columns[1:]
    missing = [name for name in claim["largest"] if name not in groups]
    others = [name for name in groups if name not in claim["largest"]]
    if missing or not others:
        lacking = f"no component '{missing[0]}'" if missing else "no other component"
        raise UnavailableError(f"the model's blocks have {lacking}")
    named = [groups.index(name) for name in claim["largest"]]
    rest = [groups.index(name) for name in others]
    values = contributions.select(groups).to_numpy()

    def of(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        def lead(weights: np.ndarray) -> np.ndarray:
            means = weighted_means(values[rows], weights)
            return means[:, named].min(axis=1) - means[:, rest].max(axis=1)

        return lead

    # the lead is that of one block, and depth has all of them; sizes without a sign do not add up to what depth does
    share = evidence.depth_range(model, *_stream_of(claim)) / n_blocks if claim["by"] == "rise" else np.nan
    return over_reviews(of, len(values), evidence, share)


@claim_statistic
def similarity(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """BERTScore F1 of a variant over all its reviews, accepted or not, because acceptance selects by F1."""
    scores = evidence.similarity.filter(pl.col("variant") == claim["variant"])
    if scores.is_empty() and claim["variant"] in evidence.variants:
        raise UnavailableError(f"no review was rewritten as '{claim['variant']}'")
    if scores.is_empty():
        raise UnavailableError(f"the study has no similarity of a variant '{claim['variant']}'")
    return mean_over_reviews(scores.select("review_id", pl.col("f1").alias("value")), evidence)


@claim_statistic
def intervention(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The change of the metric by an intervention on attention, less that by a control, over reviews."""
    return measure_intervention(claim, model, evidence)


@claim_statistic
def consequence(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The outcome of a text or an intervention, less that of what it is compared with, over reviews."""
    return measure_consequence(claim, model, evidence)


@claim_statistic
def arms(claim: Claim, model: str | None, evidence: Evidence) -> Measurement:
    """The difference of the metric between two arms of trained models, averaged over layers, over seeds."""
    return measure_arms(claim, evidence)


def _mean(by_review: pl.DataFrame, claim: Claim, evidence: Evidence, depth_range: float = np.nan) -> Measurement:
    return (mean_over_pools if is_pooled(claim) else mean_over_reviews)(by_review, evidence, depth_range)


def _depth_range(claim: Claim, model: str, evidence: Evidence) -> float:
    """What depth does to the claim's metric in the model, seen as the claim sees it."""
    if is_pooled(claim):
        return evidence.depth_range(model, POOLED_VIEW, claim["metric"], pooled=True)
    return evidence.depth_range(model, claim["view"], claim["metric"])


def _at_layers(rows: pl.DataFrame, claim: Claim) -> pl.DataFrame:
    """review_id and value, the mean over the claim's layers, in the order of `rows`."""
    chosen = rows.filter(at_layers(claim["layers"]))
    if chosen.is_empty():
        raise UnavailableError(f"the study has no values of {claim['metric']} at the layers '{claim['layers']}'")
    return chosen.group_by("review_id", maintain_order=True).agg(pl.col("value").mean())


def _view_of_component(claim: Claim) -> str:
    """Blocks are taken apart text by text: of the thesis's convention they have the centred view alone."""
    return "centred" if is_pooled(claim) else claim["view"]


def _stream_of(claim: Claim) -> tuple[str, str]:
    """View and metric of the residual stream that a component's anisotropy is that of."""
    view = _view_of_component(claim)
    metric, view = _STREAM_OF.get((claim["metric"], view), (claim["metric"], view))
    return view, metric


def _contributions(claim: Claim, model: str, evidence: Evidence) -> tuple[pl.DataFrame, int]:
    """review_id and the mean contribution over blocks of each group of components, a column each; number of blocks."""
    if evidence.components is None:
        raise UnavailableError("the study takes no blocks apart")
    view = _view_of_component(claim)
    rows = evidence.components.filter(
        pl.col("model") == model, pl.col("variant") == claim["variant"], pl.col("metric") == claim["metric"]
    )
    if rows.is_empty():
        raise UnavailableError(f"the study takes no blocks of this model apart on the variant '{claim['variant']}'")
    rows = rows.filter(pl.col("view") == view)
    if rows.is_empty():
        raise UnavailableError(f"the study has no view '{view}' of the components' {claim['metric']}")
    group_of = {name: group for group, names in COMPONENT_GROUPS.items() for name in names}
    change = pl.col("change").sum()
    table = (
        rows.with_columns(pl.col("component").replace_strict(group_of).alias("group"))
        .group_by("review_id", "layer", "group")
        .agg(change.abs() if claim["by"] == "influence" else change)
        .filter(pl.col("change").is_not_nan())
        .sort("review_id", "layer")  # sums in another order round differently
        .pivot("group", index="review_id", values="change", aggregate_function="mean", sort_columns=True)
        .fill_null(np.nan)
    )
    return table, rows["layer"].n_unique()
