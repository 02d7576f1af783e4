"""How singular anisotropy goes together with the first token, over reviews within layers: rows of the table `depth`."""

import numpy as np
import polars as pl

from homogenization.metrics.registry import ALL_TOKENS
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import HIGHER, LOWER, NOT_TESTED, UNDECIDED
from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings
from homogenization.tables.over_reviews import as_array

OUTCOME, OUTCOME_VIEWS = "max_explainable_variance", ("raw", "raw_without_first")
PREDICTORS = (
    "first_token_norm",
    "first_token_norm_ratio",
    "first_token_energy_share",
    "first_token_attention_share",
)
_DRAWS = 1000
_CONSTANT = 1e-6  # relative: after a BOS token, the first is the same in every review up to the rounding of float32


def correlations(values: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """view, metric, statistic (the predictor) and `ESTIMATE_SCHEMA` of the originals of one model.

    `mean` is Spearman's correlation over the reviews of a layer, averaged over layers, with its percentile bootstrap
    interval over the reviews that have all values. It has no p; its interval decides.

    Args:
        values: rows of `VALUES_SCHEMA`.
        settings: level and seed.
    """
    rows = values.filter(point=RESIDUAL_STREAM, variant=ORIGINAL)
    axes = [rows.select(name).unique().sort(name) for name in ("review_id", "layer")]
    found = []
    for view in OUTCOME_VIEWS:
        for predictor in PREDICTORS:
            cells = (rows.filter(view=view, metric=OUTCOME), rows.filter(view=ALL_TOKENS, metric=predictor))
            x, y = (as_array(cell, "value", *axes) for cell in cells)
            measured = ~np.isnan(x + y).all(axis=0)  # attention begins after the first block
            there = measured.any() & ~np.isnan(x + y)[:, measured].any(axis=1)
            x, y = (of[there][:, measured] for of in (x, y))
            row = {"view": view, "metric": OUTCOME, "statistic": predictor}
            if there.any() and (layers := _varies(x) & _varies(y)).any():
                found.append(row | within_layers(x[:, layers], y[:, layers], settings))
            elif there.any():
                same = f"{predictor if _varies(x).any() else OUTCOME} is the same in every review"
                found.append(row | {"n_reviews": 0, "verdict": NOT_TESTED, "reason": same})
    schema = dict.fromkeys(("view", "metric", "statistic"), pl.String) | ESTIMATE_SCHEMA
    return pl.DataFrame(found, schema=schema).with_columns(pl.selectors.float().fill_null(np.nan))


def within_layers(x: np.ndarray, y: np.ndarray, settings: Settings) -> dict[str, float | str]:
    """Spearman's correlation of `x` and `y` (reviews, layers) within layers, over the reviews."""
    from scipy.stats import bootstrap, rankdata

    def correlation(drawn: np.ndarray, axis: int = -1) -> np.ndarray:
        ranks = (rankdata(values[drawn], axis=-2) for values in (x, y))
        a, b = (of - of.mean(axis=-2, keepdims=True) for of in ranks)
        return ((a * b).sum(axis=-2) / np.sqrt((a**2).sum(axis=-2) * (b**2).sum(axis=-2))).mean(axis=-1)

    reviews = np.arange(len(x))
    drawn = {"n_resamples": _DRAWS, "confidence_level": settings.confidence, "rng": settings.seed}
    low, high = bootstrap(
        (reviews,), correlation, vectorized=True, method="percentile", batch=100, **drawn
    ).confidence_interval
    verdict = HIGHER if low > 0 else LOWER if high < 0 else UNDECIDED
    ends = {"ci_low": low, "ci_high": high, "verdict": verdict}
    return {"n_reviews": len(reviews), "mean": float(correlation(reviews)), **ends}


def _varies(values: np.ndarray) -> np.ndarray:
    """Whether the values of a layer vary by more than rounding, (layers,)."""
    return np.ptp(values, axis=0) > _CONSTANT * np.abs(values).max(axis=0)
