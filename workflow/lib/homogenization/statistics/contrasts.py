"""The table `contrasts`: paired differences between variants, review by review, with intervals and tests."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table
from homogenization.statistics.resampling import (
    benjamini_hochberg,
    bootstrap_weights,
    effect_size,
    max_t_p,
    mean_interval,
    means,
    medians,
    reviews_for_power,
    sign_flip_p,
    sign_flips,
)

CONTRASTS_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "minus": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "view": pl.String,
    "metric": pl.String,
    "n_reviews": pl.Int64,
    "mean": pl.Float64,
    "median": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "effect_size": pl.Float64,
    "p_value": pl.Float64,
    "q_value": pl.Float64,
    "p_max_t": pl.Float64,
    "n_80": pl.Float64,
    "mean_common": pl.Float64,
    "ci_low_common": pl.Float64,
    "ci_high_common": pl.Float64,
    "n_common": pl.Int64,
}
_FAMILY = ("point", "view", "metric")  # whose layers `p_max_t` corrects for
_CELL = (*_FAMILY, "layer")
_KEYS = ("model", "variant", "minus", "point", "layer", "view", "metric")

# Relative uncertainty of values from float64 singular values: the same tokens in another order differ by rounding.
_PRECISION = 1e-9


def contrast_table(
    metrics: pl.DataFrame,
    common: pl.DataFrame | None,
    contrasts: Sequence[tuple[str, str]],
    names: Sequence[str],
    draws: int,
    confidence: float,
    seed: int,
) -> pl.DataFrame:
    """Every contrast of every model, point, layer, view and metric: the table `contrasts`, sorted by its keys.

    Args:
        metrics: the table `metrics`, whose reviews are the analysed ones.
        common: the table `common_length`; None where it is not computed.
        contrasts: pairs (variant, minus).
        names: metrics to contrast; those that `metrics` lacks are left out.
        draws: number of bootstrap draws, and of sign flips.
        confidence: level of the intervals; sample sizes are for a test at the level 1 - confidence.
        seed: seed of draws and flips, the same for every model.

    Returns:
        `CONTRASTS_SCHEMA`. Differences are variant - minus, per review, and 0 within 1e-9 of the values. `q_value`
        is corrected for all tests of a model; `p_max_t` is corrected over the layers of the residual stream, and equals
        `p_value` after the final norm.

    Raises:
        HomogenizationError: a contrast names a variant that a model does not have.
    """
    parts = [pl.DataFrame(schema=CONTRASTS_SCHEMA)]
    for model in metrics["model"].unique().sort() if contrasts else ():
        _refuse_missing(model, metrics, contrasts)
        rows = metrics.filter(pl.col("model") == model, pl.col("metric").is_in(list(names)))
        of_model = None if common is None else common.filter(pl.col("model") == model)
        if not rows.is_empty():
            parts.append(_contrasts_of_model(model, rows, of_model, contrasts, draws, confidence, seed))
    return pl.concat(parts).sort(_KEYS)


def _contrasts_of_model(
    model: str,
    metrics: pl.DataFrame,
    common: pl.DataFrame | None,
    contrasts: Sequence[tuple[str, str]],
    draws: int,
    confidence: float,
    seed: int,
) -> pl.DataFrame:
    # sorted, so that neither the order of rows nor other models decide which review gets which weight
    reviews = metrics.select(pl.col("review_id").unique().sort()).with_row_index("row")
    cells = metrics.group_by(_CELL).agg(pl.col("depth").first()).sort(_CELL).with_row_index("cell")
    weights, flips = bootstrap_weights(len(reviews), draws, seed), sign_flips(len(reviews), draws, seed)
    variants = sorted({variant for pair in contrasts for variant in pair})
    matrices = {name: _matrix(metrics.filter(pl.col("variant") == name), reviews, cells) for name in variants}
    on_common = {
        name: _matrix(common.filter(pl.col("variant") == name), reviews, cells)
        for name in variants
        if common is not None
    }
    parts = []
    for variant, minus in contrasts:
        values = _differences(matrices[variant], matrices[minus])
        low, high = mean_interval(values, weights, confidence)
        effect = effect_size(values)
        columns = {
            "n_reviews": (~np.isnan(values)).sum(axis=0),
            "mean": means(values),
            "median": medians(values),
            "ci_low": low,
            "ci_high": high,
            "effect_size": effect,
            "p_value": sign_flip_p(values, flips),
            "p_max_t": _family_p(values, cells, flips),
            "n_80": reviews_for_power(effect, power=0.8, alpha=1 - confidence),
            **_on_common_length(on_common, variant, minus, weights, confidence, len(cells)),
        }
        parts.append(
            cells.with_columns(
                pl.lit(model).alias("model"),
                pl.lit(variant).alias("variant"),
                pl.lit(minus).alias("minus"),
                *(pl.Series(name, column) for name, column in columns.items()),
            )
        )
    table = pl.concat(parts)
    q_values = pl.Series("q_value", benjamini_hochberg(table["p_value"].to_numpy()))
    return table.with_columns(q_values).select(*CONTRASTS_SCHEMA).cast(CONTRASTS_SCHEMA)


def _refuse_missing(model: str, metrics: pl.DataFrame, contrasts: Sequence[tuple[str, str]]) -> None:
    known = metrics.filter(pl.col("model") == model)["variant"].unique().sort().to_list()
    for pair in contrasts:
        missing = [name for name in pair if name not in known]
        if missing:
            raise HomogenizationError(
                f"contrasts: {list(pair)} names {missing[0]!r}, which the metrics of {model} do not have; allowed: "
                f"{', '.join(known)}. Correct 'contrasts.pairs', or add the variant to 'variants'."
            )


def _matrix(table: pl.DataFrame, reviews: pl.DataFrame, cells: pl.DataFrame) -> np.ndarray:
    """(reviews, cells) values of one variant; rows of other reviews and cells are left out."""
    placed = table.select("review_id", *_CELL, "value").join(reviews, on="review_id").join(cells, on=_CELL)
    values = np.full((len(reviews), len(cells)), np.nan)
    values[placed["row"].to_numpy(), placed["cell"].to_numpy()] = placed["value"].to_numpy()
    return values


def _differences(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`first` - `second`, 0 within the precision of the values; NaN where either has none."""
    difference = first - second
    same = np.abs(difference) <= _PRECISION * np.maximum(np.abs(first), np.abs(second))
    return np.where(same, 0.0, difference)


def _family_p(values: np.ndarray, cells: pl.DataFrame, flips: np.ndarray) -> np.ndarray:
    """(cells,) p corrected over the layers of the same point, view and metric."""
    p = np.empty(len(cells))
    for family in cells.group_by(_FAMILY).agg(pl.col("cell"))["cell"]:
        p[family.to_numpy()] = max_t_p(values[:, family.to_numpy()], flips)
    return p


def _on_common_length(
    matrices: Mapping[str, np.ndarray], variant: str, minus: str, weights: np.ndarray, confidence: float, n_cells: int
) -> dict[str, np.ndarray | pl.Series]:
    """The columns `_common`: NaN and null where no review has both values."""
    values = np.full((weights.shape[1], n_cells), np.nan)
    if variant in matrices and minus in matrices:
        values = _differences(matrices[variant], matrices[minus])
    counts = (~np.isnan(values)).sum(axis=0)
    counted = np.flatnonzero(counts)
    low, high = np.full(n_cells, np.nan), np.full(n_cells, np.nan)
    low[counted], high[counted] = mean_interval(values[:, counted], weights, confidence)
    return {
        "mean_common": means(values),
        "ci_low_common": low,
        "ci_high_common": high,
        "n_common": pl.Series(counts).replace(0, None),
    }


def tabulate(
    inputs: Any,
    contrasts: Sequence[tuple[str, str]],
    metrics: Sequence[str],
    draws: int,
    confidence: float,
    seed: int,
) -> pl.DataFrame:
    """The table `contrasts` of the metrics named `metrics`; `inputs` names the files of the tables behind it.

    These are `metrics` and `common_length`; the latter is empty where the study sets no common number of tokens.
    """
    common_length = read_table(inputs.common_length) if inputs.common_length else None
    return contrast_table(read_table(inputs.metrics), common_length, contrasts, metrics, draws, confidence, seed)
