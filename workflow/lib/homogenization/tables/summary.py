"""Every metric averaged over reviews."""

import polars as pl

from homogenization.names.columns import columns
from homogenization.tables.metrics import values_of
from homogenization.tables.over_reviews import summarise

_GROUP = ("model", "variant", "point", "layer", "depth", "view", "metric")
#: The mean of `metrics.parquet` over reviews. Intervals are at 95 %, as those of [contrasts](statistics.md#contrasts).
SUMMARY_SCHEMA = {
    **columns(*_GROUP),
    "n_reviews": pl.Int64,  #: reviews whose value is not NaN
    **columns("mean"),
    "std": pl.Float64,  #: over these reviews, with n − 1
    "median": pl.Float64,  #: over these reviews
    **columns("ci_low", "ci_high"),
}
SCHEMAS = {"summary": SUMMARY_SCHEMA}


def tabulate(metrics: pl.DataFrame) -> pl.DataFrame:
    """Mean, spread and 95 % interval over reviews of every metric, sorted by its keys."""
    return summarise(values_of(metrics), _GROUP, "value").sort(_GROUP)
