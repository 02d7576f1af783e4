"""The table `depth`: how metrics change over depth, review by review, and where they change fastest."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import describe_metric
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.statistics.estimates import (
    JUDGED_SCHEMA,
    VERDICT_SCHEMA,
    averages,
    estimates,
    judged,
)
from homogenization.statistics.layers import (
    LayerValues,
    layer_steps,
    layer_values,
    net_changes,
    pools_as_reviews,
    slopes,
    steepest_span,
    yardsticks_of,
)
from homogenization.statistics.resampling import FEWEST_NEGLIGIBLE, Resampling
from homogenization.tables.metrics import values_of

#: A row for each model, variant, view, metric and statistic, along the residual stream. Intervals are those of
#: [contrasts](#contrastsparquet) over reviews; in the view `pooled_centred` over pools, the output being that after the
#: final norm.
DEPTH_SCHEMA = {
    **columns("model", "variant", "view", "metric"),
    #: `slope`; `net_change`, `net_change_after_first`: value at the output minus that before the first block, and minus
    #: that after it; `steepest`: depth of the midpoint of the step with the fastest mean change towards homogenization
    "statistic": pl.String,
    "n_reviews": pl.Int64,  #: reviews (or pools) that have a value
    #: mean over these; for `steepest` a depth. NaN without a value, and where no step goes towards homogenization
    "estimate": pl.Float64,
    #: ends of its interval; for `steepest` where the first of the steps begins that the draws find, and where the last
    #: ends. NaN for fewer than two reviews
    **dict.fromkeys(("ci_low", "ci_high"), pl.Float64),
    # not of `steepest`, which is NaN and null there
    **JUDGED_SCHEMA,
    **VERDICT_SCHEMA,
    "reason": pl.String,  #: `one review decides`, or null
}
SCHEMAS = {"depth": DEPTH_SCHEMA}
SLOPE, STEEPEST = "slope", "steepest"
CHANGES = ("net_change", "net_change_after_first")  # since the layer of its place
_JUDGED = (SLOPE, *CHANGES)


def tabulate(
    metrics: pl.DataFrame, pooled: pl.DataFrame | None, names: Sequence[str], resampling: Mapping[str, Any]
) -> pl.DataFrame:
    """Every statistic of change over depth along the residual stream: the table `depth` (`DEPTH_SCHEMA`).

    Each review has its slope and net changes: estimates are their means over reviews, with their intervals.
    `steepest` is found in the mean over reviews, and its interval spans the steps that the draws find, or those of
    single pools. An estimate without a value is NaN.

    Args:
        metrics: the table `metrics`.
        pooled: the table `pooled`; None where tokens are not pooled.
        names: names of the metrics.
        resampling: fields of `Resampling`.
    """
    drawn = Resampling(**resampling)
    parts = [_of_reviews(values_of(metrics), names, drawn, pools=False)]
    if pooled is not None:
        parts.append(_of_reviews(pools_as_reviews(pooled), names, drawn, pools=True))
    return pl.concat(parts).sort("model", "variant", maintain_order=True)


def _of_reviews(metrics: pl.DataFrame, names: Sequence[str], resampling: Resampling, pools: bool) -> pl.DataFrame:
    """The rows of metrics by review, or by pool."""
    stream = metrics.filter(pl.col("point") == RESIDUAL_STREAM, pl.col("metric").is_in(names))
    parts = [pl.DataFrame(schema=DEPTH_SCHEMA)]
    for (model, variant), table in sorted(stream.partition_by("model", "variant", as_dict=True).items()):
        rows = _rows_of_job(layer_values(table), resampling, pools)
        parts.append(rows.with_columns(model=pl.lit(model), variant=pl.lit(variant)))
    table = pl.concat(parts, how="diagonal_relaxed").drop("yardstick")
    table = table.join(yardsticks_of(stream), on=("model", "view", "metric"), how="left", maintain_order="left")
    fewest = 0 if pools else FEWEST_NEGLIGIBLE
    table = judged(table.with_columns(pl.selectors.float().fill_null(np.nan)), resampling, fewest=fewest)
    tested = pl.col("statistic").is_in(_JUDGED) & (pl.col("n_reviews") > 0)
    return table.with_columns(
        pl.when(tested).then(pl.col("verdict")),
        pl.when(tested).then(pl.col("yardstick", "relative_effect")).otherwise(np.nan),
    ).select(*DEPTH_SCHEMA)


def _rows_of_job(job: LayerValues, resampling: Resampling, pools: bool) -> pl.DataFrame:
    n = len(job.review_ids)
    steps = layer_steps(job.values, job.layers, job.depth)
    changes = {name: net_changes(job.values, job.layers, job.depth, layer) for layer, name in enumerate(CHANGES)}
    by_review = {SLOPE: slopes(job.values, job.depth), **changes}  # (cells, reviews) each
    described = averages if pools else estimates
    columns = {name: described(values.T, resampling.confidence) for name, values in by_review.items()}
    # of pools, the steps that single ones find
    drawn = (np.eye(n), 1.0) if pools else (resampling.weights(n), resampling.confidence)
    spans = np.array(
        [
            steepest_span(steps._replace(rates=of_cell), describe_metric(metric).homogenization, *drawn)
            for (_, metric), of_cell in zip(job.cells, steps.rates, strict=True)
        ]
    )
    if pools and n == 1:
        spans[:, 1:] = np.nan
    columns[STEEPEST] = {
        "n_reviews": (~np.isnan(steps.rates)).any(axis=2).sum(axis=1),
        **dict(zip(("estimate", "ci_low", "ci_high"), spans.T, strict=True)),
    }
    cells = pl.DataFrame(job.cells, {"view": pl.String, "metric": pl.String}, orient="row").with_row_index("cell")
    parts = [
        cells.with_columns(pl.lit(name).alias("statistic"), *(pl.Series(key, of) for key, of in found.items()))
        for name, found in columns.items()
    ]
    return pl.concat(parts, how="diagonal").sort("cell", maintain_order=True)
