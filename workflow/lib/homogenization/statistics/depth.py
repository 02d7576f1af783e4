"""The table `depth`: how metrics change over depth, review by review, and where they change fastest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from homogenization.inference.layers import (
    LayerValues,
    layer_steps,
    layer_values,
    net_changes,
    rate,
    slopes,
    steepest_span,
)
from homogenization.inference.resampling import (
    bootstrap_weights,
    mean_interval,
    uniform_weights,
    weighted_means,
)
from homogenization.metrics.catalogue import describe_metric
from homogenization.run.parquet import read_table
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.points import REGIONS, RESIDUAL_STREAM

#: A row for each model, variant, view, metric and statistic, along the residual stream. Intervals are those of
#: [contrasts](#contrastsparquet) over reviews.
DEPTH_SCHEMA = {
    **columns("model", "variant", "view", "metric"),
    #: `slope`; `net_change`, `net_change_after_first`: value at the output minus that before the first block, and minus
    #: that after it; `rate_first`, `rate_middle`, `rate_last`: change per unit depth in [0, .25], [.25, .75], [.75, 1],
    #: a step that crosses a border counting by its parts; `steepest`: depth of the midpoint of the step with the
    #: fastest mean change towards homogenization; `step_LLL`: change per unit depth of the step that ends at layer LLL
    "statistic": pl.String,
    "n_reviews": pl.Int64,  #: reviews that have a value; 0 where a region has no step
    #: mean over these; for `steepest` a depth. NaN without a value, and where no step goes towards homogenization
    "estimate": pl.Float64,
    #: ends of its interval; for `steepest` where the first of the steps begins that the draws find, and where the last
    #: ends. NaN for fewer than two reviews
    **dict.fromkeys(("ci_low", "ci_high"), pl.Float64),
}
SCHEMAS = (DEPTH_SCHEMA,)


def depth_table(metrics: pl.DataFrame, names: Sequence[str], draws: int, confidence: float, seed: int) -> pl.DataFrame:
    """Every statistic of change over depth along the residual stream: the table `depth` (`DEPTH_SCHEMA`).

    Each review has its slope, net changes and rates: estimates are their means over reviews, with their intervals.
    `steepest` is found in the mean over reviews, and its interval spans the steps that the draws find. An estimate
    without a value is NaN.

    Args:
        metrics: tables/metrics.parquet.
        names: names of the metrics.
        draws: number of bootstrap draws of the reviews.
        confidence: level of the intervals, between 0 and 1.
        seed: seed of the draws.
    """
    stream = metrics.filter(pl.col("point") == RESIDUAL_STREAM, pl.col("metric").is_in(names))
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
    changes = {
        name: net_changes(job.values, job.layers, job.depth, layer)
        for layer, name in enumerate(("net_change", "net_change_after_first"))
    }
    by_review = {"slope": slopes(job.values, job.depth), **changes, **rates, **single}
    # (reviews, cells x statistics), the statistics of a cell side by side
    values = np.stack(list(by_review.values()), axis=-1).transpose(1, 0, 2).reshape(len(job.review_ids), -1)
    counts = (~np.isnan(values)).sum(axis=0)
    means = weighted_means(values, uniform_weights(len(values)))[0]
    summary = np.stack([counts, means, *mean_interval(values, confidence)], axis=-1)
    rows = []
    for cell, (view, metric) in enumerate(job.cells):
        of_cell = summary[cell * len(by_review) : (cell + 1) * len(by_review)].tolist()
        numbers = dict(zip(by_review, of_cell, strict=True))
        of_steps = replace(steps, changes=steps.changes[cell])
        n_reviews = (~np.isnan(of_steps.changes)).any(axis=1).sum()
        steepest = steepest_span(of_steps, describe_metric(metric).homogenization, weights, confidence)
        numbers["steepest"] = [n_reviews, *steepest]
        order = ("slope", *changes, *rates, "steepest", *single)
        rows += [(view, metric, name, int(numbers[name][0]), *numbers[name][1:]) for name in order]
    return rows


def tabulate(inputs: Any, metrics: Sequence[str], draws: int, confidence: float, seed: int) -> pl.DataFrame:
    """The table `depth` of the metrics named `metrics`; `inputs` names the file of the table `metrics`."""
    return depth_table(read_table(inputs.metrics), metrics, draws, confidence, seed)
