"""How metrics change over depth, review by review: slopes, rates by region and step, and where they change fastest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import describe_metric
from homogenization.statistics.resampling import bootstrap_weights, mean_interval, percentile_interval, weighted_means

DEPTH_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "view": pl.String,
    "metric": pl.String,
    "statistic": pl.String,
    "n_reviews": pl.Int64,
    "estimate": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
}
REGIONS = {"first": (0.0, 0.25), "middle": (0.25, 0.75), "last": (0.75, np.inf)}  # of depth, the upper end excluded


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
    """Changes from each layer to the next that is there.

    Attributes:
        layers: (steps,) int, where each step ends.
        spans: (steps,) depth that it covers.
        midpoints: (steps,) depth half-way.
        changes: (..., steps) of the values, NaN where either end is.
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
    """Arrays of the rows of tables/metrics.parquet that belong to one model, variant and point, in whatever order."""
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
        steps: with changes (n, steps).
        homogenization: 1 or -1, as `Metric.homogenization`; 0: the largest absolute mean change.
        weights: (draws, n) of the reviews.

    Returns:
        (draws,) float64; NaN where no step goes that way. Of equal steps the first counts.
    """
    if not len(steps.layers):
        return np.full(len(weights), np.nan)
    means = weighted_means(steps.rates, weights)
    towards = np.abs(means) if homogenization == 0 else homogenization * means
    towards = np.where(np.isnan(towards), -np.inf, towards)
    return np.where(towards.max(axis=1) > 0, steps.midpoints[towards.argmax(axis=1)], np.nan)


def uniform_weights(n: int) -> np.ndarray:
    """(1, n) weights of the sample itself: the draw in which each review comes once."""
    return np.full((1, n), 1 / n)


def depth_table(metrics: pl.DataFrame, names: Sequence[str], draws: int, confidence: float, seed: int) -> pl.DataFrame:
    """Every statistic of change over depth along the residual stream: the table `depth` (`DEPTH_SCHEMA`).

    Slopes and rates are means over reviews of what is taken of each, with a BCa interval; `steepest` is found in the
    mean over reviews and has a percentile interval. An estimate without a value is NaN.

    Args:
        metrics: tables/metrics.parquet.
        names: of the metrics that are wanted.
        draws: bootstrap draws of the reviews.
        confidence: of the intervals, between 0 and 1.
        seed: of the draws.
    """
    stream = metrics.filter(pl.col("point") == "residual_stream", pl.col("metric").is_in(names))
    jobs = stream.partition_by("model", "variant", as_dict=True)
    parts = [pl.DataFrame(schema=DEPTH_SCHEMA)]
    for (model, variant), table in sorted(jobs.items()):
        rows = _rows_of_job(layer_values(table), draws, confidence, seed)
        parts.append(pl.DataFrame([(model, variant, *row) for row in rows], schema=DEPTH_SCHEMA, orient="row"))
    return pl.concat(parts)


def _rows_of_job(job: LayerValues, draws: int, confidence: float, seed: int) -> list[tuple]:
    weights = bootstrap_weights(len(job.review_ids), draws, seed)
    steps = layer_steps(job.values, job.layers, job.depth)
    rates = {f"rate_{region}": rate(steps, region) for region in REGIONS}
    single = {f"step_{layer:03d}": steps.rates[..., step] for step, layer in enumerate(steps.layers)}
    by_review = {"slope": slopes(job.values, job.depth), **rates, **single}
    # (reviews, cells x statistics), the statistics of a cell side by side
    values = np.stack(list(by_review.values()), axis=-1).transpose(1, 0, 2).reshape(len(job.review_ids), -1)
    counts = (~np.isnan(values)).sum(axis=0)
    means = weighted_means(values, uniform_weights(len(values)))[0]
    summary = np.stack([counts, means, *mean_interval(values, weights, confidence)], axis=-1)
    rows = []
    for cell, (view, metric) in enumerate(job.cells):
        of_cell = summary[cell * len(by_review) : (cell + 1) * len(by_review)].tolist()
        numbers = dict(zip(by_review, of_cell, strict=True))
        of_steps = replace(steps, changes=steps.changes[cell])
        numbers["steepest"] = _steepest_row(of_steps, describe_metric(metric).homogenization, weights, confidence)
        order = ("slope", *rates, "steepest", *single)
        rows += [(view, metric, name, int(numbers[name][0]), *numbers[name][1:]) for name in order]
    return rows


def _steepest_row(
    steps: Steps, homogenization: int, weights: np.ndarray, confidence: float
) -> tuple[float, float, float, float]:
    """Reviews that count, estimate, low and high of the depth of the steepest step."""
    n_reviews = (~np.isnan(steps.changes)).any(axis=1).sum()
    estimate = steepest_depth(steps, homogenization, uniform_weights(len(steps.changes)))[0]
    if np.isnan(estimate):
        return n_reviews, np.nan, np.nan, np.nan
    low, high = percentile_interval(steepest_depth(steps, homogenization, weights)[:, None], confidence)
    return n_reviews, estimate, low[0], high[0]
