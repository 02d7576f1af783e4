"""The table `first_token`: correlations of singular anisotropy with the first token, and its lower bound."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.names.columns import columns, with_ends
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.statistics.correlation import SCOPES, paired
from homogenization.statistics.layers import LayerValues, layer_values
from homogenization.statistics.resampling import RANK_DRAWS, Resampling, resampled

#: A row for each model, variant, view of the outcome, predictor and scope. The outcome is `max_explainable_variance` of
#: the residual stream. A predictor that the study does not compute has no rows. Intervals are percentile bootstrap
#: intervals over reviews.
FIRST_TOKEN_SCHEMA = {
    **columns("model", "variant"),
    "view": pl.String,  #: view of the outcome: `raw` or `raw_without_first`
    #: `first_token_norm`, `first_token_norm_ratio`, `first_token_energy_share` or `first_token_attention_share`
    "predictor": pl.String,
    #: `reviews_and_layers`: all values pooled; `layers`: correlation over the layers of a review, averaged over
    #: reviews; `reviews`: correlation over the reviews of a layer, averaged over layers
    "scope": pl.String,
    **with_ends("pearson"),  #: correlation; NaN if one of the two is constant
    **with_ends("spearman"),  #: correlation of the ranks
    "n_reviews": pl.Int64,  #: reviews with both values at some layer
    "n_values": pl.Int64,  #: reviews and layers with both values
    #: share of reviews and layers in which the outcome is at least the first token's share of the energy (up to 1e-9);
    #: the same in all rows of a model, variant and view `raw`, NaN in the other view
    "bound_holds": pl.Float64,
    "bound_tightness": pl.Float64,  #: mean of that share / the outcome; the same and NaN in the same rows
}
SCHEMAS = (FIRST_TOKEN_SCHEMA,)
OUTCOME = "max_explainable_variance"
_ENERGY_SHARE = "first_token_energy_share"
PREDICTORS = ("first_token_norm", "first_token_norm_ratio", _ENERGY_SHARE, "first_token_attention_share")
OUTCOME_VIEWS = ("raw", "raw_without_first")
_PREDICTOR_VIEW = "all_tokens"
_BOUND_ROUNDING = 1e-9


def tabulate(metrics: pl.DataFrame, resampling: Mapping[str, Any]) -> pl.DataFrame:
    """Correlations of `OUTCOME` with each of `PREDICTORS` along the residual stream: the table `first_token`.

    Intervals are percentiles of a bootstrap over reviews. A metric that the study did not compute has no row.

    Args:
        metrics: the table `metrics`.
        resampling: fields of `Resampling`: bootstrap draws, of which rank correlations take `RANK_DRAWS` at most, and
            the level of the intervals.

    Returns:
        `FIRST_TOKEN_SCHEMA`, sorted by model and variant.
    """
    wanted = metrics.filter(
        pl.col("point") == RESIDUAL_STREAM,
        ((pl.col("metric") == OUTCOME) & pl.col("view").is_in(OUTCOME_VIEWS)) | pl.col("metric").is_in(PREDICTORS),
    )
    drawn = Resampling(**resampling)
    jobs = wanted.partition_by("model", "variant", as_dict=True)
    parts = [pl.DataFrame(schema=FIRST_TOKEN_SCHEMA)]
    for (model, variant), table in sorted(jobs.items()):
        job = layer_values(table)
        rows = _rows_of_job(job, drawn.weights(len(job.review_ids)), drawn.confidence)
        rows = [(model, variant, *row) for row in rows]
        parts.append(pl.DataFrame(rows, schema=FIRST_TOKEN_SCHEMA, orient="row"))
    return pl.concat(parts)


def _rows_of_job(job: LayerValues, weights: np.ndarray, confidence: float) -> Iterator[tuple]:
    outcomes = {view: job.of(view, OUTCOME) for view in OUTCOME_VIEWS}
    predictors = {predictor: job.of(_PREDICTOR_VIEW, predictor) for predictor in PREDICTORS}
    outcomes, predictors = ({name: v for name, v in found.items() if v is not None} for found in (outcomes, predictors))
    if not (outcomes and predictors):
        return
    pairs = list(predictors.values()), list(outcomes.values())
    ranked = {  # (predictors, outcomes, 3) each
        scope: resampled(partial(spearmans, *pairs), weights[:RANK_DRAWS], confidence)
        for scope, (_, spearmans) in SCOPES.items()
    }
    for j, (view, outcome) in enumerate(outcomes.items()):
        bound = _bound(outcome, predictors.get(_ENERGY_SHARE)) if view == "raw" else (np.nan, np.nan)
        for i, (predictor, values) in enumerate(predictors.items()):
            present = paired(values, outcome)[2]
            counts = (int(present.any(axis=1).sum()), int(present.sum()))
            for scope, (pearson, _) in SCOPES.items():
                linear = resampled(partial(pearson, values, outcome), weights, confidence)
                yield view, predictor, scope, *linear, *ranked[scope][i, j], *counts, *bound


def _bound(outcome: np.ndarray | None, share: np.ndarray | None) -> tuple[float, float]:
    """Share of the values with outcome >= share, and the mean of share / outcome; NaN without values."""
    if outcome is None or share is None or not (present := paired(outcome, share)[2]).any():
        return np.nan, np.nan
    outcome, share = outcome[present], share[present]
    return float((outcome >= share - _BOUND_ROUNDING).mean()), float((share / outcome).mean())
