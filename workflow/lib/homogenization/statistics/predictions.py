"""The table `predictions`: the effects of variants beside what steering predicts of them.

Let the attention of a block be A = (1 - λ) C + sum_p w_p P_p, with content C, templates of position P_p λ = sum w_p.
A text with weights w' has the attention A + sum_p c_p (P_p - A), c_p = (w'_p - w_p) + w_p (λ' - λ) / (1 - λ). These
are doses of steering: to first order, a metric changes by the sum of slope times c_p over blocks and patterns.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import describe_metric
from homogenization.names.columns import columns, condition_columns, with_ends
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.statistics.doses import too_few
from homogenization.statistics.resampling import mean_interval, means
from homogenization.tables.comparisons import too_few_of_all
from homogenization.tables.components import SPECTRAL_VIEWS
from homogenization.tables.over_reviews import keep_accepted

PATTERN_OF = {  # template of the dictionary -> pattern of attention steering that stands for it
    "first": "first",
    "second": "second",
    "self": "self",
    "previous": "recency",
    "recency_2": "recency",
    "recency_8": "recency",
    "recency_32": "uniform",
}
_UNIFORM = "uniform"  # what the dictionary leaves to content
_LEAST_CONTENT = 0.05  # share of the attention below which content is too little to divide by
#: A row for each variant, metric and view of which both slopes and the positions of attention are measured
#: ([how](causes.md#what-steering-predicts-of-a-variant)), if nine in ten of its texts differ from their originals.
#: Intervals are intervals over reviews.
PREDICTIONS_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("view"),
    **columns("metric"),
    **condition_columns("layer"),
    **columns("n_reviews"),
    **with_ends("predicted"),  #: slopes times doses, mean over reviews
    **with_ends("measured"),  #: variant minus original
    **with_ends("unexplained"),  #: measured minus predicted
    #: share of the attention that templates of position have in the original, mean over blocks
    "positional": pl.Float64,
    "moved": pl.Float64,  #: doses without their signs, summed over templates, mean over blocks
    "covered": pl.Float64,  #: share of these whose pattern has a slope
    **condition_columns("reason"),
}
SCHEMAS = (PREDICTIONS_SCHEMA,)
NUMBERS = ("predicted", "measured", "unexplained")


def doses(positional: pl.DataFrame, model: str, variant: str) -> pl.DataFrame:
    """block, template and dose: how the attention to positions differs from that of the originals.

    Weights of heads are averaged over a block first, since steering changes all of its heads alike.

    Args:
        positional: tables/positional.parquet.
        model: name of a model.
        variant: name of a variant.
    """
    templates = [name.removeprefix("weight_") for name in positional.columns if name.startswith("weight_")]
    templates = [name for name in templates if name != _UNIFORM]

    def weights(of: str) -> pl.DataFrame:
        rows = positional.filter(model=model, variant=of)
        return rows.group_by("block").agg(
            pl.col(f"weight_{name}").fill_nan(None).mean().alias(name) for name in templates
        )

    both = weights(ORIGINAL).join(weights(variant), on="block", suffix="_other").sort("block")
    own, other = (both.select(pl.col(f"{name}{end}") for name in templates).to_numpy() for end in ("", "_other"))
    share, other_share = own.sum(axis=1, keepdims=True), other.sum(axis=1, keepdims=True)
    dose = other - own + own * (other_share - share) / (1 - share).clip(min=_LEAST_CONTENT)
    table = pl.DataFrame(dose, schema=templates).with_columns(both["block"], positional=pl.Series(share[:, 0]))
    return table.unpivot(templates, index=["block", "positional"], variable_name="template", value_name="dose")


def predictions_table(
    slopes: pl.DataFrame,
    positional: pl.DataFrame,
    metrics: pl.DataFrame,
    confidence: float,
    min_reviews: int,
) -> pl.DataFrame:
    """What doses predict of a variant's effect after a layer, what is measured, and the difference.

    All three are means over the reviews that have slopes and both measured values, with intervals over these
    reviews; the doses are those of all reviews, and count as known.

    Args:
        slopes: slopes of all jobs (`SLOPES_SCHEMA`); those of originals count.
        positional: tables/positional.parquet.
        metrics: tables/metrics.parquet, whose reviews of a variant are the accepted ones.
        confidence: level of the intervals, between 0 and 1.
        min_reviews: fewest reviews with which an effect is tested.

    Returns:
        `PREDICTIONS_SCHEMA`, sorted by its keys.
    """
    rows = []
    originals = slopes.filter(variant=ORIGINAL)
    pairs = (
        positional.select("model", "variant").unique().filter(pl.col("variant") != ORIGINAL).sort("model", "variant")
    )
    for model, variant in pairs.rows():
        of_model = doses(positional, model, variant)
        patterns = of_model.with_columns(pl.col("template").replace_strict(PATTERN_OF, default=None).alias("pattern"))
        own = originals.filter(model=model)
        known = pl.col("pattern").is_in(own["pattern"].unique().to_list())
        size = patterns["dose"].abs().sum()
        attention = {
            "positional": of_model.unique("block", keep="first", maintain_order=True)["positional"].mean(),
            "moved": size / max(of_model["block"].n_unique(), 1),
            "covered": patterns.filter(known)["dose"].abs().sum() / size if size else np.nan,
        }
        by_review = _by_review(own, patterns, metrics.filter(model=model), variant)
        for (metric, view, layer), of_cell in sorted(
            by_review.partition_by("metric", "view", "layer", as_dict=True).items()
        ):
            values = of_cell.sort("review_id").select(NUMBERS).to_numpy()
            reason = too_few(len(values), min_reviews)
            bounds = np.stack([means(values), *mean_interval(values, confidence)], axis=1)
            numbers = dict.fromkeys(with_ends(*NUMBERS), np.nan)
            if reason is None:
                numbers = dict(zip(numbers, bounds.ravel().tolist(), strict=True))
            names = {"model": model, "variant": variant, "view": view, "metric": metric, "layer": layer}
            rows.append(names | attention | numbers | {"n_reviews": len(values), "reason": reason})
    return pl.DataFrame(rows, schema=PREDICTIONS_SCHEMA)


def _by_review(slopes: pl.DataFrame, doses: pl.DataFrame, metrics: pl.DataFrame, variant: str) -> pl.DataFrame:
    """metric, view, layer, review_id, predicted, measured and unexplained of a variant."""
    keys = ["metric", "view", "layer", "review_id"]
    per_block = doses.drop_nulls("pattern").group_by("block", "pattern").agg(pl.col("dose").sum())
    predicted = (
        slopes.join(per_block, on=["block", "pattern"])
        .sort(*keys, "block", "pattern")
        .group_by(keys, maintain_order=True)
        .agg((pl.col("slope") * pl.col("dose")).sum().alias("predicted"))
    )
    spectral = pl.col("view").replace_strict(SPECTRAL_VIEWS, default=None)
    of_tokens = pl.col("metric").is_in([name for name in set(slopes["metric"]) if describe_metric(name).views])
    stream = metrics.filter(point=RESIDUAL_STREAM).rename({"view": "its_view"})
    at = ["metric", "its_view", "layer", "review_id"]
    sides = [stream.filter(variant=name).select(*at, pl.col("value")) for name in (variant, ORIGINAL)]
    measured = sides[0].join(sides[1], on=at, suffix="_original")
    return (
        predicted.with_columns(pl.when(of_tokens).then("view").otherwise(spectral).alias("its_view"))
        .join(measured, on=at)
        .with_columns((pl.col("value") - pl.col("value_original")).alias("measured"))
        .with_columns((pl.col("measured") - pl.col("predicted")).alias("unexplained"))
        .filter(pl.col("unexplained").is_finite())
    )


def tabulate(
    slopes: Sequence[str], similarity: pl.DataFrame, positional: pl.DataFrame, metrics: pl.DataFrame, **settings: Any
) -> pl.DataFrame:
    """`predictions_table` without variants of which too few texts are changed.

    Doses are those of all texts of a variant together.

    Args:
        slopes: files of slopes of all jobs.
        similarity: the table `similarity`.
        positional: as in `predictions_table`, with all variants.
        metrics: as there.
        **settings: `confidence` and `min_reviews`, as there.
    """
    accepted = keep_accepted(read_tables(slopes), similarity)
    for variant in positional.filter(pl.col("variant") != ORIGINAL)["variant"].unique().sort():
        if reason := too_few_of_all(similarity, variant, ORIGINAL):
            logging.warning("the effect of %s is not predicted: %s", variant, reason)
            positional = positional.filter(pl.col("variant") != variant)
    return predictions_table(accepted, positional, metrics, **settings)
