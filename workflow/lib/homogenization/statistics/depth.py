"""The table `depth`: how metrics change over depth, review by review, and where they change fastest."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import describe_metric
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings, estimate, summary, untested
from homogenization.statistics.first_token import correlations
from homogenization.statistics.values import Values
from homogenization.tables.metrics import values_of
from homogenization.tables.pooled import pools_as_reviews

#: A row for each model, variant, view, metric and statistic, along the residual stream: means over reviews; in the view
#: `pooled_centred` over pools, the output being that after the final norm.
DEPTH_SCHEMA = {
    **columns("model", "variant"),
    "group": pl.String,  #: null
    **columns("view", "metric"),
    #: `slope`; `net_change`, `net_change_after_first`: value at the output minus that before the first block, and minus
    #: that after it; `steepest`: depth of the midpoint of the step with the fastest change towards homogenization,
    #: without the reviews in which no step goes there; a step is a span, so its interval reaches from the lower end of
    #: that of where the steps begin to the upper end of that of where they end. Of singular anisotropy also
    #: `first_token_norm` and other such metrics: Spearman's correlation with them over the originals of a layer,
    #: averaged over layers, with a bootstrap interval, which decides
    "statistic": pl.String,
    **ESTIMATE_SCHEMA,
}
SCHEMAS = {"depth": DEPTH_SCHEMA}
SLOPE, STEEPEST = "slope", "steepest"
CHANGES = ("net_change", "net_change_after_first")  # since the layer of its place


def tabulate(
    metrics: pl.DataFrame, pooled: pl.DataFrame | None, names: Sequence[str], resampling: Mapping[str, Any]
) -> pl.DataFrame:
    """The table `depth` of the metrics of these `names`; `pooled` is None where tokens are not pooled.

    `resampling` has fields of `Settings`.
    """
    sources = [values_of(metrics), *([] if pooled is None else [pools_as_reviews(pooled)])]
    parts = [pl.DataFrame(schema=DEPTH_SCHEMA)]
    drawn = Settings(**resampling)
    for source in sources:
        rows = source.filter(pl.col("point") == RESIDUAL_STREAM, pl.col("metric").is_in(names))
        for (model,), of_model in sorted(rows.partition_by("model", as_dict=True).items()):
            values = Values.of(of_model)
            for variant in values.by_variant:
                parts.append(_named(_of_variant(values, variant, drawn), model, variant))
    for (model,), of_model in sorted(sources[0].partition_by("model", as_dict=True).items()):
        parts.append(_named(correlations(of_model, drawn), model, ORIGINAL))
    return pl.concat(parts).sort("model", "variant", maintain_order=True)


def _named(table: pl.DataFrame, model: str, variant: str) -> pl.DataFrame:
    names = {"model": model, "variant": variant, "group": None}
    return table.with_columns(pl.lit(name, pl.String).alias(key) for key, name in names.items()).select(*DEPTH_SCHEMA)


def _of_variant(values: Values, variant: str, settings: Settings) -> pl.DataFrame:
    array, cells, derived, spans = values.of_variant(variant), [], [], []
    read = array[~np.isnan(array).all(axis=1)]
    layers = values.cells.filter(pl.col("layers").is_null()).with_row_index("place")
    for (view, metric), rows in layers.group_by("view", "metric", maintain_order=True):
        of_cell, places = read[:, rows["place"].to_numpy()], (rows["layer"].to_numpy(), rows["depth"].to_numpy())
        sign = describe_metric(metric).homogenization
        found = {SLOPE: slopes(of_cell, places[1])}
        found |= {name: net_changes(of_cell, *places, since) for since, name in enumerate(CHANGES)}
        spans.append(steepest(of_cell, places[1], sign))
        found |= {STEEPEST: spans[-1].mean(axis=0)}
        derived += found.values()
        cells += [(view, metric, name, rows["yardstick"][0]) for name in found]
    schema = {**columns("view", "metric"), "statistic": pl.String, "yardstick": pl.Float64}
    table = estimate(pl.DataFrame(cells, schema=schema, orient="row"), np.column_stack(derived), settings)
    starts, ends = (summary(side.T, settings.confidence) for side in np.moveaxis(np.array(spans), 1, 0))
    reach = pl.DataFrame({"low": starts["ci_low"], "high": ends["ci_high"], "statistic": STEEPEST})
    reach = pl.concat([table.filter(statistic=STEEPEST).select("view", "metric"), reach], how="horizontal")
    table = table.join(reach, on=("view", "metric", "statistic"), how="left", maintain_order="left")
    table = table.with_columns(ci_low=pl.coalesce("low", "ci_low"), ci_high=pl.coalesce("high", "ci_high"))
    return untested(table.drop("low", "high"), pl.when(statistic=STEEPEST).then(pl.lit("a place is no difference")))


def slopes(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """(reviews,) slopes of the least-squares line of values (reviews, layers) over depth (layers,).

    Layers at which no review has a value are left out; NaN where a review lacks another, and for fewer than two layers.
    """
    there = ~np.isnan(values).all(axis=0)
    if there.sum() < 2:
        return np.full(len(values), np.nan)
    offsets, values = depth[there] - depth[there].mean(), values[:, there]
    return (values - values[:, :1]) @ offsets / (offsets**2).sum()  # what is constant has a slope of exactly 0


def net_changes(values: np.ndarray, layers: np.ndarray, depth: np.ndarray, since: int) -> np.ndarray:
    """(...,) changes of values (..., layers) from the layer `since` to the output, the layer at depth 1.

    NaN where either layer has no value, is not there, or both are the same.
    """
    start, end = np.flatnonzero(layers == since), np.flatnonzero(depth >= 1)
    if not len(start) or not len(end) or start[0] == end[-1]:
        return np.full(values.shape[:-1], np.nan)
    return values[..., end[-1]] - values[..., start[0]]


def steepest(values: np.ndarray, depth: np.ndarray, homogenization: int) -> np.ndarray:
    """(2, reviews) depths between which the values (reviews, layers) change fastest towards homogenization.

    Args:
        values: NaN where there is none.
        depth: (layers,) ascending.
        homogenization: `Metric.homogenization`, 1 or -1; 0 stands for the fastest change either way.

    Returns:
        NaN where no step goes that way; the first of equal steps is taken.
    """
    rates = np.diff(values, axis=1) / np.diff(depth)
    towards = np.nan_to_num(homogenization * rates if homogenization else np.abs(rates), nan=-np.inf)
    if not towards.shape[1]:
        return np.full((2, len(values)), np.nan)
    step = towards.argmax(axis=1)
    return np.where(towards.max(axis=1) > 0, [depth[step], depth[step + 1]], np.nan)
