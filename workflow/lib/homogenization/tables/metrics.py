"""Every metric of every accepted review: a row for a token matrix, a column for a metric."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.measures.views import TOKENS_OF
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES, TOKEN_COUNT, describe_metric
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.run.parquet import read_table
from homogenization.tables.over_reviews import keep_accepted

_PLACE = ("model", "variant", "review_id", "point", "layer", "depth", "view")
_MEASURED = (*SPECTRAL_METRICS, *GEOMETRY_METRICS, *ATTENTION_METRICS)
#: A row for each review accepted in the variant (every original is), point, layer and view. Metrics that are not
#: spectral stand in the views `raw` and `raw_without_first`. NaN where a metric is undefined; null where it is not of
#: the view, or the study does not have it.
METRICS_SCHEMA = {**columns(*_PLACE, TOKEN_COUNT), **dict.fromkeys(_MEASURED, pl.Float64)}
#: The same, a row for each metric too; the views of metrics that are not spectral are `all_tokens` and `without_first`.
VALUES_SCHEMA = columns(*_PLACE, "metric", "value")
SCHEMAS = {"metrics": METRICS_SCHEMA}
_ROWS_AT_ONCE = 20_000  # spectra in memory beside their p and q


def tabulate(
    matrices: Sequence[str], attention: Sequence[str], similarity: pl.DataFrame, metrics: Sequence[str]
) -> pl.DataFrame:
    """The table `metrics` of files in the same order of jobs; the spectra of one job are in memory at a time."""
    parts = [pl.DataFrame(schema=METRICS_SCHEMA)]
    for paths in zip(matrices, attention, strict=True):
        of_job = [keep_accepted(read_table(path), similarity) for path in paths]
        parts.append(metrics_of_job(*of_job, metrics))
    return pl.concat(parts)


def metrics_of_job(matrices: pl.DataFrame, attention: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """The rows of one job. A metric of the attention of block l stands at the residual stream after block l."""
    at_rows = [_attention_at(view, attention) for view in TOKENS_OF]
    keys = [*_PLACE, TOKEN_COUNT]
    joined = with_spectral(matrices).join(
        pl.concat(at_rows, how="diagonal"), on=keys, how="full", coalesce=True, maintain_order="left_right"
    )
    left_out = [pl.lit(None, pl.Float64).alias(name) for name in _MEASURED if name not in metrics]
    return joined.with_columns(left_out).select(*METRICS_SCHEMA)


def with_spectral(matrices: pl.DataFrame) -> pl.DataFrame:
    """`matrices` with the spectral metrics in the place of singular values; null where these are."""
    rows, parts = matrices.with_row_index("_row"), []
    for chunk in rows.drop_nulls("singular_values").iter_slices(_ROWS_AT_ONCE):
        size = chunk["singular_values"].list.len().to_numpy().astype(np.int64)
        flat = chunk["singular_values"].explode(empty_as_null=False).to_numpy()
        batch = SpectrumBatch.from_flat(flat, size)
        parts.append(chunk.select("_row", *(pl.Series(name, evaluate(name, batch)) for name in SPECTRAL_METRICS)))
    schema = {"_row": pl.UInt32} | dict.fromkeys(SPECTRAL_METRICS, pl.Float64)
    spectral = pl.concat([pl.DataFrame(schema=schema), *parts])
    return rows.join(spectral, on="_row", how="left", maintain_order="left").drop("_row", "singular_values")


def _attention_at(view: str, attention: pl.DataFrame) -> pl.DataFrame:
    """The keys, and the metrics of attention that belong into the rows of a view."""
    names = [name for name, metric in ATTENTION_METRICS.items() if TOKENS_OF[view] in metric.views]
    named = attention.with_columns(point=pl.lit(RESIDUAL_STREAM), view=pl.lit(view))
    return named.select(*_PLACE, TOKEN_COUNT, *names)


def values_of(metrics: pl.DataFrame) -> pl.DataFrame:
    """The table `metrics` with a row for each metric (`VALUES_SCHEMA`), without those that are not of a view."""
    parts = [pl.DataFrame(schema=VALUES_SCHEMA)]
    for name in METRIC_NAMES:
        value = pl.col(name).cast(pl.Float64).alias("value")
        of_metric = metrics.select(*_PLACE, pl.lit(name).alias("metric"), value).drop_nulls("value")
        if views := describe_metric(name).views:
            of_tokens = pl.col("view").replace_strict(TOKENS_OF, default=None, return_dtype=pl.String)
            of_metric = of_metric.with_columns(of_tokens).filter(pl.col("view").is_in(views))
        parts.append(of_metric)
    return pl.concat(parts)
