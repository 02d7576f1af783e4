"""The metrics table as arrays of reviews and layers, and how values change from layer to layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from homogenization.statistics.resampling import weighted_means

REGIONS = {"first": (0.0, 0.25), "middle": (0.25, 0.75), "last": (0.75, np.inf)}  # ranges of depth, upper end excluded


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


@dataclass(frozen=True)
class Steps:
    """Changes between neighbouring stored layers.

    Attributes:
        layers: (steps,) int, where each step ends.
        spans: (steps,) depth that each step covers.
        midpoints: (steps,) depth in the middle of each step.
        changes: (..., steps) changes of the values, NaN where either end is NaN.
    """

    layers: np.ndarray
    spans: np.ndarray
    midpoints: np.ndarray
    changes: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """(..., steps) change per unit depth."""
        return self.changes / self.spans


def layer_values(table: pl.DataFrame) -> LayerValues:
    """Arrays of the rows of tables/metrics.parquet that belong to one model, variant and point, in any order."""
    cells = table.select("view", "metric").unique().sort("view", "metric")
    reviews = table.select("review_id").unique().sort("review_id")
    layers = table.select("layer", "depth").unique().sort("layer")
    places = (
        table.join(cells.with_row_index("cell"), on=cells.columns)
        .join(reviews.with_row_index("review"), on="review_id")
        .join(layers.select("layer").with_row_index("place"), on="layer")
    )
    values = np.full((len(cells), len(reviews), len(layers)), np.nan)
    values[tuple(places[index].to_numpy() for index in ("cell", "review", "place"))] = places["value"].to_numpy()
    return LayerValues(
        cells.rows(), reviews["review_id"].to_list(), layers["layer"].to_numpy(), layers["depth"].to_numpy(), values
    )


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


def layer_steps(values: np.ndarray, layers: np.ndarray, depth: np.ndarray) -> Steps:
    """The steps of values (..., layers); none for fewer than two layers."""
    return Steps(layers[1:], np.diff(depth), (depth[1:] + depth[:-1]) / 2, np.diff(values, axis=-1))


def rate(steps: Steps, region: str) -> np.ndarray:
    """(...,) change per unit depth over the steps whose midpoint lies in a region of `REGIONS`; NaN without any."""
    low, high = REGIONS[region]
    inside = (steps.midpoints >= low) & (steps.midpoints < high)
    changes = steps.changes[..., inside]
    span = (~np.isnan(changes) * steps.spans[inside]).sum(axis=-1)
    return np.nansum(changes, axis=-1) / np.where(span > 0, span, np.nan)


def steepest_depth(steps: Steps, homogenization: int, weights: np.ndarray) -> np.ndarray:
    """Depth of the midpoint of the step with the largest mean change per unit depth towards homogenization.

    Args:
        steps: steps with changes (n, steps).
        homogenization: `Metric.homogenization`, 1 or -1; 0 stands for the largest absolute mean change.
        weights: (draws, n) weights of the reviews.

    Returns:
        (draws,) float64; NaN where no step goes that way. The first of equal steps is taken.
    """
    if not len(steps.layers):
        return np.full(len(weights), np.nan)
    means = weighted_means(steps.rates, weights)
    towards = np.abs(means) if homogenization == 0 else homogenization * means
    towards = np.where(np.isnan(towards), -np.inf, towards)
    return np.where(towards.max(axis=1) > 0, steps.midpoints[towards.argmax(axis=1)], np.nan)
