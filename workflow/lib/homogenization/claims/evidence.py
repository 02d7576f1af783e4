"""What claims are judged by: the tables and settings of a study, and the estimates that statistics share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.terms import Claim, UnavailableError, is_pooled
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.verdicts import POOLS, REVIEWS
from homogenization.statistics.estimates import dominance
from homogenization.statistics.layers import POOLED_VIEW, LayerValues, layer_values, pools_as_reviews, yardsticks_of
from homogenization.statistics.resampling import (
    Resampling,
    bootstrap_weights,
    mean_interval,
    resampled,
)
from homogenization.tables.regions import at_layers

SIZE = "yardstick"  # what a difference is measured by
INTERVAL = ("estimate", "ci_low", "ci_high")
_OF_ROW = ("ci_low", "ci_high", "n_reviews", SIZE, "reason")

# What a statistic finds: columns of the table `claims`, at least `estimate`, `ci_low`, `ci_high` and `n_reviews`. Those
# that it lacks are NaN.
Found = dict[str, Any]
Ends = tuple[float, float, float]  # an estimate and the ends of its interval


@dataclass(frozen=True)
class Evidence:
    """What claims are judged by: tables, named as their files, and settings; and the estimates that statistics share.

    Attributes:
        metrics: the values of the table (`tables.metrics.values_of`). Tables that the study does not make are None.
        resampling: draws, level and margin.
        variants: names of the study's variants.
        n_reviews: reviews of the sample.
        min_reviews: fewest accepted reviews of rewritten variants with which a claim about these is tested; of a
            comparison, those whose texts differ.
    """

    metrics: pl.DataFrame
    similarity: pl.DataFrame
    resampling: Resampling
    variants: Sequence[str]
    n_reviews: int
    min_reviews: int
    contrasts: pl.DataFrame | None = None
    depth: pl.DataFrame | None = None
    components: pl.DataFrame | None = None
    pooled: pl.DataFrame | None = None
    interventions: pl.DataFrame | None = None
    consequences: pl.DataFrame | None = None

    def resampled(self, statistic: Callable[[np.ndarray], np.ndarray], n: int) -> Ends:
        """A statistic of the weights (draws, n) of `n` reviews, and the ends of its interval."""
        weights = _weights(n, self.resampling.draws, self.resampling.seed)
        return resampled(statistic, weights, self.resampling.confidence)

    def size(self, model: str, view: str, metric: str) -> dict[str, float]:
        """The yardstick of a metric in a model (`layers.yardsticks_of`), in the view of pools too."""
        return {SIZE: self._sizes.get((model, view, metric), np.nan)}

    @cached_property
    def _sizes(self) -> dict[tuple[str, ...], float]:
        tables = [self.metrics, *([] if self._pools is None else [self._pools])]
        sizes = pl.concat(yardsticks_of(table) for table in tables).with_columns(pl.col(SIZE).fill_null(np.nan))
        return {row[:3]: row[3] for row in sizes.select("model", "view", "metric", SIZE).rows()}

    @cached_property
    def _pools(self) -> pl.DataFrame | None:
        """`pooled` as the table of metrics: a pool in place of a review, and the output after the final norm."""
        return None if self.pooled is None else pools_as_reviews(self.pooled)

    def change_of(self, claim: Claim, model: str, statistic: str) -> Mapping[str, Any]:
        """The row of the table `depth` that a claim on change over depth is about.

        Raises:
            UnavailableError: the study lacks the metric, variant or view, or it has no value in any review.
        """
        self.values_of(claim, model, claim["variant"])  # names what the study lacks
        keys = {"variant": claim["variant"], "view": view_of(claim), "metric": claim["metric"]}
        rows = self.depth.filter(**keys, model=model, statistic=statistic)
        if rows.is_empty():
            raise UnavailableError(f"the study measures no change of {claim['metric']} over depth")
        return rows.row(0, named=True)

    def values_of(self, claim: Claim, model: str, variant: str) -> pl.DataFrame:
        """review_id, layer, depth, view, metric, value of the claim's metric, without NaN, sorted.

        Raises:
            UnavailableError: the study lacks the metric, variant, view or point.
        """
        pooled, metric, view = is_pooled(claim), claim["metric"], view_of(claim)
        table = self._pools if pooled else self.metrics
        if table is None:
            raise UnavailableError("the study does not pool the tokens of its texts")
        if variant.endswith(" control"):
            raise UnavailableError(f"the study has no {variant} of '{claim['variant']}'")
        point, of_pools = claim.get("point", RESIDUAL_STREAM), " of pooled tokens" if pooled else ""
        rows = narrowed(
            table.filter(model=model),
            ("metric", metric, f"the study has no metric {metric}{of_pools}"),
            ("variant", variant, f"the study has no variant '{variant}'{of_pools}"),
            ("view", view, f"the study has no view '{view}' of {metric}{of_pools}"),
            ("point", point, f"the study has no values of {metric} at {point}{of_pools}"),
        )
        rows = rows.filter(pl.col("value").is_not_nan()).sort("review_id", "layer")
        if rows.is_empty():
            raise UnavailableError(f"{metric} is undefined in every review")
        return rows.select("review_id", "layer", "depth", "view", "metric", "value")

    def layer_values_of(self, model: str, *sides: Claim) -> LayerValues:
        """The values by review and layer of the cells of one or several claims about one variant of a model."""
        return layer_values(pl.concat([self.values_of(side, model, sides[0]["variant"]) for side in sides]))

    def mean(self, rows: pl.DataFrame, unit: str = REVIEWS) -> Found:
        """The mean of `value` over rows, one for each name in the first column, with its interval; NaN ends for one.

        Raises:
            UnavailableError: there is no value.
        """
        present = rows.drop_nulls("value").filter(pl.col("value").is_not_nan()).sort(rows.columns[0])
        values = present["value"].to_numpy()[:, None]
        if not len(values):
            raise UnavailableError("undefined in every review")
        low, high = (end.item() for end in mean_interval(values, self.resampling.confidence))
        found = {**estimated((float(values.mean()), low, high)), "n_reviews": len(values), "unit": unit}
        return found | {"reason": dominance(values)[0] if unit == REVIEWS else None}

    def over_reviews(self, statistic: Callable[..., np.ndarray], *values: np.ndarray) -> Found:
        """A statistic over reviews that is no mean, with its percentile interval.

        Args:
            statistic: a function of `values` of reviews and of their weights (draws, n); (draws,).
            values: arrays (n, ...), a row for each review.
        """
        n = len(values[0])
        return {**estimated(self.resampled(partial(statistic, *values), n)), "n_reviews": n}


# most claims of a study are about the same number of reviews
_weights = lru_cache(maxsize=4)(bootstrap_weights)


def view_of(claim: Claim) -> str:
    """The view of a claim's metric in its convention."""
    return POOLED_VIEW if is_pooled(claim) else claim["view"]


def narrowed(rows: pl.DataFrame, *steps: tuple[str, Any, str]) -> pl.DataFrame:
    """The rows with a value in each of several columns.

    Args:
        rows: a table.
        steps: column, value, and what the study lacks where no row has it.

    Raises:
        UnavailableError: no row is left after a step.
    """
    for column, value, lacking in steps:
        rows = rows.filter(pl.col(column) == value)
        if rows.is_empty():
            raise UnavailableError(lacking)
    return rows


def rows_at_layers(claim: Claim, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows at the claim's layers; raises UnavailableError if there are none."""
    chosen = rows.filter(at_layers(claim["layers"]))
    if chosen.is_empty():
        raise UnavailableError(f"the study has no values of {claim['metric']} at the layers '{claim['layers']}'")
    return chosen


def at_layers_of(claim: Claim, rows: pl.DataFrame) -> pl.DataFrame:
    """review_id and value, the mean over the claim's layers, in the order of `rows`."""
    return rows_at_layers(claim, rows).group_by("review_id", maintain_order=True).agg(pl.col("value").mean())


def estimated(interval: Ends) -> Found:
    """The columns of an estimate and the ends of its interval."""
    return dict(zip(INTERVAL, interval, strict=True))


def selected(claim: Claim, row: Mapping[str, Any], estimate: str = "mean") -> Found:
    """What a row of a table of estimates says, with its interval, size and p; `estimate` is its column."""
    if not row["n_reviews"]:
        raise UnavailableError("undefined in every review")
    found = {"estimate": row[estimate], **{name: row.get(name) for name in _OF_ROW}}
    found |= {name: row.get(name, np.nan) for name in ("p_value", "p_max_t")}
    return found | {"unit": POOLS if is_pooled(claim) else REVIEWS}
