"""The table `predictability`: whether texts whose tokens are alike are texts that the model predicts well.

Repeated words make tokens alike and texts predictable, and so does a text's length. So the rank correlation of
cross-entropy and metric over reviews stands beside the partial one, given the number of tokens, the type-token ratio
and the same metric at layer 0, where no block has mixed anything.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from homogenization.names.columns import columns, condition_columns, table_of
from homogenization.names.numbers import NO_HEAD
from homogenization.statistics.correlation import pooled_spearmans
from homogenization.statistics.resampling import (
    RANK_DRAWS,
    Resampling,
    percentile_interval,
    step_down_p,
    uniform_weights,
)
from homogenization.tables.intervened import CONDITION
from homogenization.tables.over_reviews import as_array

CELLS = (  # view and metric
    ("all_tokens", "cosine_anisotropy"),
    ("without_first", "cosine_anisotropy"),
    ("centred", "normalized_effective_rank"),
)
NOTHING, CONFOUNDS = "nothing", "confounds"
COVARIATES = ("n_tokens", "type_token_ratio")  # and the metric at layer 0
#: Rank correlations of cross-entropy and metric over the originals. A row for each model, condition, metric, view,
#: layer and what is given; for a model without a next token one row, with the reason. Intervals are percentile
#: intervals over reviews.
PREDICTABILITY_SCHEMA = {
    **columns("model"),
    **condition_columns("kind", "pattern", "blocks", "strength", "view"),
    "metric": pl.String,  #: `cosine_anisotropy` or `normalized_effective_rank`
    "given": pl.String,  #: `nothing`, or `confounds`: number of tokens, type-token ratio, the same metric at layer 0
    "layer": pl.Int32,  #: given the confounds from 1 on
    **columns("depth", "n_reviews"),
    "estimate": pl.Float64,  #: Spearman correlation; NaN where one of the two is constant
    **columns("ci_low", "ci_high"),
    "p_value": pl.Float64,  #: permutations of the residuals of ranks
    **columns("p_max_t"),  # the family is the layers
    "reason": pl.String,  #: why there is nothing; else null
}


def partial_correlation(xy: np.ndarray, xz: np.ndarray, yz: np.ndarray, zz: np.ndarray) -> np.ndarray:
    """(...,) correlation of x and y given z, from correlations; a covariate that is constant (NaN) takes nothing out.

    (r_xy - r_xz R⁻¹ r_zy) / √((1 - r_xz R⁻¹ r_zx)(1 - r_yz R⁻¹ r_zy)), R the correlations of the covariates (Anderson
    2003, section 2.5). NaN where the covariates explain x or y fully.

    Args:
        xy: (...,).
        xz: (..., k) correlations of x with the covariates.
        yz: (..., k) those of y.
        zz: (..., k, k) those of the covariates.
    """
    xz, yz, zz = (np.nan_to_num(values) for values in (xz, yz, zz))
    zz = zz.copy()
    zz[..., range(zz.shape[-1]), range(zz.shape[-1])] = 1.0
    inverse = np.linalg.pinv(zz, hermitian=True)
    on_x, on_y = (np.einsum("...i,...ij->...j", values, inverse) for values in (xz, yz))
    left_x, left_y = (1 - (on * values).sum(axis=-1) for on, values in ((on_x, xz), (on_y, yz)))
    spread = np.sqrt(np.where((left_x > 1e-9) & (left_y > 1e-9), left_x * left_y, np.nan))
    return ((xy - (on_x * yz).sum(axis=-1)) / spread).clip(-1, 1)


def rank_residuals(values: np.ndarray, covariates: np.ndarray) -> np.ndarray:
    """(n, columns) what the ranks of covariates leave of the ranks of values, by least squares with a constant.

    Args:
        values: (n, columns).
        covariates: (n, k); k may be 0.
    """
    ranks = rankdata(values, axis=0)
    design = np.column_stack([np.ones(len(values)), rankdata(covariates, axis=0)])
    return ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]


def permutation_p(x: np.ndarray, y: np.ndarray, orders: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two-sided p of no correlation of residuals, by permuting those of x (Kennedy 1995), as `step_down_p`.

    Args:
        x: (n,) residuals.
        y: (n, columns) residuals.
        orders: (draws, n) permutations; the sample itself counts as one more.
    """
    spread = np.linalg.norm(y, axis=0)
    size = np.abs(np.concatenate([x[None], x[orders]]) @ y)
    varies = spread > 1e-9 * len(x)  # ranks of a constant leave rounding
    return step_down_p(np.divide(size, np.linalg.norm(x) * spread, out=np.zeros_like(size), where=varies))


def predictability_table(metrics: pl.DataFrame, texts: pl.DataFrame, resampling: Resampling) -> pl.DataFrame:
    """Rank correlations over reviews of cross-entropy and homogenization by layer: `PREDICTABILITY_SCHEMA`.

    At layer 0, only the one given nothing is there. A model without a next token has one row, with the reason.
    Intervals are percentiles of a bootstrap over reviews, which ranks anew in every draw.

    Args:
        metrics: metrics of the originals (`INTERVENED_SCHEMA`) with the columns of `CONDITION`.
        texts: numbers of the originals (`TEXTS_SCHEMA`), draws of one condition under one pattern.
        resampling: permutations, bootstrap draws, of which `RANK_DRAWS` are taken at most, and the level of the
            intervals.
    """
    parts = [pl.DataFrame(schema=PREDICTABILITY_SCHEMA)]
    for (model,), of_model in sorted(texts.partition_by("model", as_dict=True).items()):
        if of_model["cross_entropy"].null_count() == len(of_model):
            parts.append(table_of({"model": [model], "n_reviews": 0, "reason": NO_HEAD}, PREDICTABILITY_SCHEMA))
            continue
        for condition, of_texts in sorted(of_model.partition_by(*CONDITION, as_dict=True).items(), key=str):
            by_review = (
                of_texts.drop_nulls("cross_entropy")
                .group_by("review_id")
                .agg(pl.col("cross_entropy", *COVARIATES).cast(pl.Float64).mean())
                .sort("review_id")
            )
            keys = {"model": model, **dict(zip(CONDITION, condition, strict=True))}
            same = [pl.col(name).eq_missing(value) for name, value in keys.items()]
            for view, metric in CELLS:
                values = metrics.filter(*same, view=view, metric=metric)
                found = _of_cell(by_review, values, resampling) if len(values) else ()
                told = {**keys, "view": view, "metric": metric}
                parts += [table_of(told | columns, PREDICTABILITY_SCHEMA) for columns in found]
    numbers = pl.selectors.float() - pl.selectors.by_name("strength")
    table = pl.concat(parts).filter(pl.col("given").ne_missing(CONFOUNDS) | (pl.col("layer") > 0))
    return table.with_columns(numbers.fill_null(np.nan))


def _of_cell(by_review: pl.DataFrame, values: pl.DataFrame, resampling: Resampling) -> Iterator[dict[str, Any]]:
    """The columns of one condition, view and metric by layer, without those that name them: for nothing, and given."""
    layers = values.select("layer", "depth").unique().sort("layer")
    of_draws = values.group_by("review_id", "layer").agg(pl.col("value").mean())
    metric = as_array(of_draws, "value", by_review.select("review_id"), layers.select("layer"))
    there = np.isfinite(metric).all(axis=1)
    metric, loss = metric[there], by_review["cross_entropy"].to_numpy()[there]
    covariates = np.column_stack([by_review.select(COVARIATES).to_numpy()[there], metric[:, 0]])
    n = len(loss)
    if n <= covariates.shape[1] + 2:
        return
    known = [column[:, None] for column in (loss, *covariates.T)]
    every = [*known, *(column[:, None] for column in metric.T)]

    def both(weights: np.ndarray) -> np.ndarray:
        """(2, draws, layers): given nothing, and given the covariates."""
        found = np.moveaxis(pooled_spearmans(known, every, weights), -1, 0)  # (draws, known, every)
        raw = found[:, 0, 4:]
        zz = np.broadcast_to(found[:, None, 1:, 1:4], (*raw.shape, 3, 3))
        xz = np.broadcast_to(found[:, None, 0, 1:4], (*raw.shape, 3))
        yz = np.swapaxes(found[:, 1:, 4:], 1, 2)
        return np.stack([raw, partial_correlation(raw, xz, yz, zz)])

    sample, drawn = both(uniform_weights(n))[:, 0], both(resampling.weights(n, at_most=RANK_DRAWS))
    orders = _orders(n, resampling.draws, resampling.seed)
    for given, known_of, estimate, draws in zip((NOTHING, CONFOUNDS), (0, 3), sample, drawn, strict=True):
        taken = covariates[:, :known_of]
        p = permutation_p(rank_residuals(loss[:, None], taken)[:, 0], rank_residuals(metric, taken), orders)
        numbers = np.where(np.isfinite(estimate), [*percentile_interval(draws, resampling.confidence), *p], np.nan)
        names = ("ci_low", "ci_high", "p_value", "p_max_t")
        told = {**layers.to_dict(), "given": given, "n_reviews": n, "estimate": estimate}
        yield told | dict(zip(names, numbers, strict=True))


@lru_cache(maxsize=2)
def _orders(n: int, draws: int, seed: int) -> np.ndarray:
    """(draws, n) permutations."""
    return np.random.default_rng(seed).permuted(np.tile(np.arange(n, dtype=np.int32), (draws, 1)), axis=1)
