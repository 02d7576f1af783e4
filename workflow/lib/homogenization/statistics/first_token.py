"""The table `first_token`: correlations of singular anisotropy with the first token, over reviews within layers."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.metrics.registry import ALL_TOKENS
from homogenization.names.columns import columns, with_ends
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.statistics.correlation import paired, pearson_within_layers
from homogenization.statistics.layers import LayerValues, layer_values
from homogenization.statistics.resampling import Resampling, resampled
from homogenization.tables.metrics import values_of

#: A row for each model, variant, view of the outcome and predictor. The outcome is `max_explainable_variance` of the
#: residual stream. A predictor that the study does not compute has no rows. Intervals are percentile bootstrap
#: intervals over reviews.
FIRST_TOKEN_SCHEMA = {
    **columns("model", "variant"),
    "view": pl.String,  #: view of the outcome: `raw` or `raw_without_first`
    #: `first_token_norm`, `first_token_norm_ratio`, `first_token_energy_share` or `first_token_attention_share`
    "predictor": pl.String,
    #: Pearson correlation over the reviews of a layer, averaged over layers; NaN if one of the two is constant
    **with_ends("pearson"),
    "n_reviews": pl.Int64,  #: reviews with both values at some layer
    "n_values": pl.Int64,  #: reviews and layers with both values
}
SCHEMAS = {"first_token": FIRST_TOKEN_SCHEMA}
OUTCOME = "max_explainable_variance"
PREDICTORS = (
    "first_token_norm",
    "first_token_norm_ratio",
    "first_token_energy_share",
    "first_token_attention_share",
)
OUTCOME_VIEWS = ("raw", "raw_without_first")


def tabulate(metrics: pl.DataFrame, resampling: Mapping[str, Any]) -> pl.DataFrame:
    """Correlations of `OUTCOME` with each of `PREDICTORS` along the residual stream: the table `first_token`.

    Args:
        metrics: the table `metrics`.
        resampling: fields of `Resampling`: bootstrap draws and the level of the intervals.

    Returns:
        `FIRST_TOKEN_SCHEMA`, sorted by model and variant.
    """
    wanted = values_of(metrics).filter(
        pl.col("point") == RESIDUAL_STREAM,
        ((pl.col("metric") == OUTCOME) & pl.col("view").is_in(OUTCOME_VIEWS)) | pl.col("metric").is_in(PREDICTORS),
    )
    drawn = Resampling(**resampling)
    rows = [
        (model, variant, *row)
        for (model, variant), table in sorted(wanted.partition_by("model", "variant", as_dict=True).items())
        for row in _rows_of_job(layer_values(table), drawn)
    ]
    return pl.DataFrame(rows, schema=FIRST_TOKEN_SCHEMA, orient="row")


def _rows_of_job(job: LayerValues, drawn: Resampling) -> Iterator[tuple]:
    weights = drawn.weights(len(job.review_ids))
    for view in OUTCOME_VIEWS:
        for predictor in PREDICTORS:
            outcome, values = job.of(view, OUTCOME), job.of(ALL_TOKENS, predictor)
            if outcome is None or values is None:
                continue
            present = paired(values, outcome)[2]
            correlation = resampled(partial(pearson_within_layers, values, outcome), weights, drawn.confidence)
            yield view, predictor, *np.asarray(correlation), int(present.any(axis=1).sum()), int(present.sum())
