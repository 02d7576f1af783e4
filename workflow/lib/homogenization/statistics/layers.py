"""The metrics table as arrays of reviews and layers, and how values change from layer to layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.resampling import uniform_weights, weighted_means
from homogenization.tables.over_reviews import as_array
from homogenization.tables.regions import yardsticks

POOLED_VIEW = "pooled_centred"


@dataclass(frozen=True)
class LayerValues:
    """Metrics of one model and variant at one point, as arrays.

    Attributes:
        cells: (view, metric) of each cell, sorted.
        review_ids: names of the reviews, sorted.
        layers: (layers,) int, ascending.
        depth: (layers,) float64, layer / number of blocks.
        values: (cells, reviews, layers) float64, NaN where there is no value.
    """

    cells: Sequence[tuple[str, str]]
    review_ids: Sequence[str]
    layers: np.ndarray
    depth: np.ndarray
    values: np.ndarray

    def of(self, view: str, metric: str) -> np.ndarray | None:
        """(reviews, layers) values of a metric in a view; None where there are none."""
        return self.values[self.cells.index((view, metric))] if (view, metric) in self.cells else None


class Steps(NamedTuple):
    """Changes between neighbouring stored layers.

    Attributes:
        layers: (steps,) int, where each step ends.
        spans: (steps,) depth that each step covers.
        starts: (steps,) depth at which each step begins.
        rates: (..., steps) changes of the values per unit depth, NaN where either end is NaN.
    """

    layers: np.ndarray
    spans: np.ndarray
    starts: np.ndarray
    rates: np.ndarray

    @property
    def ends(self) -> np.ndarray:
        """(steps,) depth at which each step ends."""
        return self.starts + self.spans


def layer_values(table: pl.DataFrame) -> LayerValues:
    """Arrays of the rows of tables/metrics.parquet that belong to one model, variant and point, in any order."""
    cells = table.select("view", "metric").unique().sort("view", "metric")
    reviews = table.select("review_id").unique().sort("review_id")
    layers = table.select("layer", "depth").unique().sort("layer")
    values = as_array(table, "value", cells, reviews, layers.select("layer"))
    return LayerValues(
        cells.rows(), reviews["review_id"].to_list(), layers["layer"].to_numpy(), layers["depth"].to_numpy(), values
    )


def pools_as_reviews(pooled: pl.DataFrame) -> pl.DataFrame:
    """The view `POOLED_VIEW` of tables/pooled.parquet as tables/metrics.parquet: a pool in place of a review.

    The output is that after the final norm, where there is one.
    """
    rows = pooled.filter(view=POOLED_VIEW).rename({"shard": "review_id"})
    last = pl.col("point") == FINAL_NORM
    after_norm = rows.filter(last).with_columns(pl.lit(RESIDUAL_STREAM).alias("point"))
    keys = ["model", "variant", "review_id", "layer", "view", "metric"]
    return pl.concat([rows.filter(~last).join(after_norm, on=keys, how="anti"), after_norm])


def slopes(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Slope of the least-squares line of values (..., layers) over depth (layers,).

    Returns:
        (...,) float64; layers without a value are left out, NaN for fewer than two.
    """
    present = ~np.isnan(values)
    counts = present.sum(axis=-1, keepdims=True)
    number = np.where(counts > 1, counts, np.nan)
    offsets = np.where(present, depth - (present * depth).sum(axis=-1, keepdims=True) / number, np.nan)
    squares = np.nansum(offsets**2, axis=-1)
    return np.nansum(offsets * values, axis=-1) / np.where(squares > 0, squares, np.nan)


def net_changes(values: np.ndarray, layers: np.ndarray, depth: np.ndarray, since: int) -> np.ndarray:
    """Change of values (..., layers) from the layer `since` to the output, the layer at depth 1.

    Returns:
        (...,) float64; NaN where either layer has no value, is not there, or both are the same.
    """
    start, end = np.flatnonzero(layers == since), np.flatnonzero(depth >= 1)
    if not len(start) or not len(end) or start[0] == end[-1]:
        return np.full(values.shape[:-1], np.nan)
    return values[..., end[-1]] - values[..., start[0]]


def layer_steps(values: np.ndarray, layers: np.ndarray, depth: np.ndarray) -> Steps:
    """The steps of values (..., layers); none for fewer than two layers."""
    spans = np.diff(depth)
    return Steps(layers[1:], spans, depth[:-1], np.diff(values, axis=-1) / spans)


def steepest_step(steps: Steps, homogenization: int, weights: np.ndarray) -> np.ndarray:
    """The step with the largest mean change per unit depth towards homogenization.

    Args:
        steps: steps with rates (n, steps).
        homogenization: `Metric.homogenization`, 1 or -1; 0 stands for the largest absolute mean change.
        weights: (draws, n) weights of the reviews.

    Returns:
        (draws,) int, the place of the step in `steps`; -1 where no step goes that way. The first of equal steps is
        taken.
    """
    if not len(steps.layers):
        return np.full(len(weights), -1)
    means = weighted_means(steps.rates, weights)
    towards = np.abs(means) if homogenization == 0 else homogenization * means
    towards = np.where(np.isnan(towards), -np.inf, towards)
    return np.where(towards.max(axis=1) > 0, towards.argmax(axis=1), -1)


def steepest_span(
    steps: Steps, homogenization: int, weights: np.ndarray, confidence: float
) -> tuple[float, float, float]:
    """Midpoint of the steepest step, and the depths between which it lies; three NaN where there is none.

    A step is a span and not a point. The depths are a percentile of where the steepest step begins in the draws, and
    one of where it ends; if all draws find the same step, they are the ends of that step.
    """
    own = steepest_step(steps, homogenization, uniform_weights(weights.shape[1]))[0]
    if own < 0:
        return (np.nan,) * 3
    drawn = steepest_step(steps, homogenization, weights)
    drawn = drawn[drawn >= 0]
    low, high = (1 - confidence) / 2, (1 + confidence) / 2
    return (
        float(steps.starts[own] + steps.spans[own] / 2),
        float(np.quantile(steps.starts[drawn], low, method="lower")) if len(drawn) else np.nan,
        float(np.quantile(steps.ends[drawn], high, method="higher")) if len(drawn) else np.nan,
    )


def yardsticks_of(metrics: pl.DataFrame) -> pl.DataFrame:
    """What differences are measured by (`regions.yardsticks`), of the originals along the residual stream.

    Args:
        metrics: model, variant, point, layer, view, metric, value.

    Returns:
        model, metric, view, yardstick.
    """
    originals = metrics.filter(pl.col("variant") == ORIGINAL, pl.col("point") == RESIDUAL_STREAM)
    return yardsticks(originals, ("model", "metric"))
