"""The table `contrasts`: paired differences between variants, review by review, with intervals and tests."""

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from homogenization.inference.layers import depth_ranges
from homogenization.inference.resampling import (
    FEWEST_NEGLIGIBLE,
    benjamini_hochberg,
    effect_size,
    flip_p,
    mean_interval,
    means,
    medians,
    reviews_for_power,
    sign_flips,
    skewness,
)
from homogenization.inference.robust import hodges_lehmann, trimmed_mean
from homogenization.metrics.catalogue import DEPENDS_ON_LENGTH
from homogenization.run.files import read_csv
from homogenization.run.parquet import read_table
from homogenization.tables.comparisons import COMPARISONS_SCHEMA, comparisons_table, same_texts
from homogenization.tables.imbalance import BALANCE_SCHEMA
from homogenization.tables.opening_tokens import reviews_whose_first_token_stays
from homogenization.vocabulary.columns import columns, with_ends
from homogenization.vocabulary.verdicts import NEGLIGIBLE, NOT_TESTED, UNDECIDED

#: A row for each model, contrast, point, layer, view and metric, sorted by these. Differences are variant − minus,
#: review by review, over the reviews that are accepted in both and whose two texts differ. A contrast that is not
#: tested has rows with a reason, and NaN for every estimate, p and q. Intervals of means are Student's with Hall's
#: correction ([statistics](statistics.md#contrasts)) at `contrasts.confidence`.
CONTRASTS_SCHEMA = {
    **columns("model", "variant", "minus", "point", "layer", "depth", "view", "metric"),
    "depends_on_length": pl.Boolean,  #: whether the metric changes with the number of tokens alone
    #: reviews with a value in both variants, whose two texts differ; of a contrast that is not tested, reviews of which
    #: the two texts are accepted and differ
    "n_reviews": pl.Int64,
    #: reviews whose two texts differ / reviews accepted in both and read by the model; NaN without any
    "share_changed": pl.Float64,
    #: `negligible`: the interval lies within `contrasts.margin` × `depth_range`, or × `review_sd` where that is larger,
    #: of 0 (of fewer than 16 reviews this is `undecided`); else `higher` or `lower`: `p_max_t` below
    #: 1 − `contrasts.confidence`; else `undecided`; `not tested`
    "verdict": pl.String,
    "fragile": pl.Boolean,  #: whether the interval of `robust` or of `kept` gives another verdict than a decided one
    **dict.fromkeys(("mean", "median"), pl.Float64),  #: of the differences; NaN without reviews
    #: ends of the interval of the mean; NaN for fewer than two reviews, also in all later columns
    **dict.fromkeys(("ci_low", "ci_high"), pl.Float64),
    #: what depth does to the metric in the model: the range over the layers of the originals' median; NaN where depth
    #: does not move it
    "depth_range": pl.Float64,
    #: how far reviews lie apart: the median over the layers of the originals' standard deviation; NaN for one review
    "review_sd": pl.Float64,
    **columns("share_of_depth"),
    #: Hodges-Lehmann estimate of the difference; its interval is from the signed-rank test, NaN for fewer than six
    #: reviews
    **with_ends("robust"),
    #: mean difference without the smallest and the largest 5 % of the differences; its interval is that of Yuen's test
    **with_ends("kept"),
    "effect_size": pl.Float64,  #: Cohen's d_z: mean / standard deviation of the differences; NaN where all are equal
    "skewness": pl.Float64,  #: of the differences, adjusted (G1); NaN where all are equal
    "p_value": pl.Float64,  #: two-sided sign-flip permutation test of mean 0
    "q_value": pl.Float64,  #: false-discovery rate over all tests of the model; what is not tested is no part of them
    #: p corrected over the layers of the residual stream; equals `p_value` for `final_norm`
    "p_max_t": pl.Float64,
    "n_80": pl.Float64,  #: reviews for 80 % power; infinite above 10⁶, NaN without an effect size
    #: mean difference on `contrasts.common_tokens` tokens, and the ends of its interval; NaN where not computed
    **dict.fromkeys(("mean_common", "ci_low_common", "ci_high_common"), pl.Float64),
    #: reviews that are long enough in both variants; null if there are none, or if the metric is not computed this way
    "n_common": pl.Int64,
    #: reviews that begin with the same token in both variants: all, if the model begins each text with a token of its
    #: own
    "n_same_first": pl.Int64,
    #: mean difference over these, and the ends of its interval; NaN for fewer than `contrasts.min_reviews`
    **dict.fromkeys(("mean_same_first", "ci_low_same_first", "ci_high_same_first"), pl.Float64),
    "reason": pl.String,  #: why the contrast is not tested; null where it is
}
SCHEMAS = CONTRASTS_SCHEMA, COMPARISONS_SCHEMA
_FAMILY = ("point", "view", "metric")  # whose layers `p_max_t` corrects for
_CELL = (*_FAMILY, "layer")
_KEYS = ("model", "variant", "minus", "point", "layer", "view", "metric")

# Relative uncertainty of values from float64 singular values: the same tokens in another order differ by rounding.
_PRECISION = 1e-9

# contrasts of the same number of reviews share their flips
_flips = lru_cache(maxsize=2)(sign_flips)


def contrast_table(
    metrics: pl.DataFrame,
    common: pl.DataFrame | None,
    comparisons: pl.DataFrame,
    similarity: pl.DataFrame,
    names: Sequence[str],
    margin: float,
    draws: int,
    confidence: float,
    seed: int,
    openings: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Every contrast of every model, point, layer, view and metric: the table `contrasts`, sorted by its keys.

    A contrast has the reviews that are in both variants with texts that differ. One with a reason is not tested: its
    numbers are NaN, and it is in no correction.

    Args:
        metrics: the table `metrics`, whose reviews of a variant are the accepted ones.
        common: the table `common_length`; None where it is not computed.
        comparisons: the table `comparisons`, a row for each contrast.
        similarity: the table `similarity`, which says of which reviews the two texts are the same.
        names: metrics to contrast; those that `metrics` lacks are left out.
        margin: share of what depth does to a metric, or of how far reviews lie apart where that is more, within which a
            difference is negligible.
        draws: number of sign flips.
        confidence: level of the intervals; sample sizes are for a test at the level 1 - confidence.
        seed: seed of the flips, the same for every model.
        openings: the table `opening_tokens`; None where first tokens are not known.

    Returns:
        `CONTRASTS_SCHEMA`. Differences are variant - minus, per review, and 0 within 1e-9 of the values.
    """
    ranges = depth_ranges(metrics)
    parts = [pl.DataFrame(schema=CONTRASTS_SCHEMA)]
    for model in metrics["model"].unique().sort() if len(comparisons) else ():
        rows = metrics.filter(pl.col("model") == model, pl.col("metric").is_in(list(names)))
        of_model = None if common is None else common.filter(pl.col("model") == model)
        if not rows.is_empty():
            numbers = draws, confidence, seed, openings
            parts.append(_contrasts_of_model(model, rows, of_model, comparisons, similarity, *numbers))
    table = pl.concat(parts).drop("depth_range", "review_sd").join(ranges, on=("model", "view", "metric"), how="left")
    return _judged(table, margin, 1 - confidence).select(*CONTRASTS_SCHEMA).sort(_KEYS)


def _judged(table: pl.DataFrame, margin: float, alpha: float) -> pl.DataFrame:
    """`table` with its verdicts, its sizes, and the mark of what depends on the number of tokens."""
    size = pl.col("depth_range").fill_null(np.nan)
    spread = pl.col("review_sd").fill_null(np.nan)
    table = table.with_columns(size, spread, (pl.col("mean") / size).alias("share_of_depth"))
    found, robust, kept = (
        _verdict_of_interval(low, high, margin)
        for low, high in (("ci_low", "ci_high"), ("robust_low", "robust_high"), ("kept_low", "kept_high"))
    )
    decides = pl.col("p_max_t") < alpha
    direction = pl.when(pl.col("mean") > 0).then(pl.lit("higher")).otherwise(pl.lit("lower"))
    verdict = (
        pl.when(pl.col("reason").is_not_null())
        .then(pl.lit(NOT_TESTED))
        .when(found == NEGLIGIBLE)
        .then(pl.when(pl.col("n_reviews") >= FEWEST_NEGLIGIBLE).then(found).otherwise(pl.lit(UNDECIDED)))
        .when(decides)
        .then(direction)
        .otherwise(pl.lit(UNDECIDED))
    )
    table = table.with_columns(
        verdict.alias("verdict"), pl.col("metric").is_in(DEPENDS_ON_LENGTH).alias("depends_on_length")
    )
    decided = ~pl.col("verdict").is_in([UNDECIDED, NOT_TESTED])
    turned = (robust != pl.col("verdict")) | (kept != pl.col("verdict"))
    return table.with_columns((decided & turned).alias("fragile"))


def _verdict_of_interval(low: str, high: str, margin: float) -> pl.Expr:
    """What an interval says by itself; a NaN end says nothing."""
    least, most, of_depth, spread = (pl.col(name).fill_nan(None) for name in (low, high, "depth_range", "review_sd"))
    bound = pl.when(of_depth.is_not_null()).then(pl.max_horizontal(of_depth, spread))
    return (
        pl.when((least > -margin * bound) & (most < margin * bound))
        .then(pl.lit(NEGLIGIBLE))
        .when(least > 0)
        .then(pl.lit("higher"))
        .when(most < 0)
        .then(pl.lit("lower"))
        .otherwise(pl.lit(UNDECIDED))
    )


def _contrasts_of_model(
    model: str,
    metrics: pl.DataFrame,
    common: pl.DataFrame | None,
    comparisons: pl.DataFrame,
    similarity: pl.DataFrame,
    draws: int,
    confidence: float,
    seed: int,
    openings: pl.DataFrame | None,
) -> pl.DataFrame:
    cells = metrics.group_by(_CELL).agg(pl.col("depth").first()).sort(_CELL).with_row_index("cell")
    by_variant = {name: rows for (name,), rows in metrics.partition_by("variant", as_dict=True).items()}
    on_common = {} if common is None else common.partition_by("variant", as_dict=True)
    parts = []
    compared = comparisons.select("variant", "minus", "reason", "n_changed", "share_changed", "n_needed")
    for variant, minus, reason, n_reviews, share, n_needed in compared.rows():
        if reason is None:
            pair = [by_variant.get(name, metrics.clear()) for name in (variant, minus)]
            # sorted, so that neither the order of rows nor other models decide which review gets which weight
            read = pair[0].select("review_id").unique().join(pair[1], on="review_id", how="semi").sort("review_id")
            same = same_texts(similarity, variant, minus)
            reviews = read.join(same, on="review_id", how="anti", maintain_order="left").with_row_index("row")
            n_changed, n_reviews = n_reviews, len(reviews)
            share = n_reviews / len(read) if len(read) else None
            if n_reviews < n_needed:  # long reviews can be left out
                reason = f"{n_reviews} of {n_changed} accepted reviews read by {model}; at least {n_needed} are needed"
        columns = {"n_reviews": np.full(len(cells), n_reviews)}
        if reason is None:
            values = _differences(*(_matrix(rows, reviews, cells) for rows in pair))
            drawn = [_matrix(on_common[name,], reviews, cells) for name in (variant, minus) if (name,) in on_common]
            columns = _numbers(values, cells, _flips(len(reviews), draws, seed), confidence)
            columns |= _on_common_length(drawn, confidence, values.shape)
            stay = openings is not None and reviews_whose_first_token_stays(openings, model, (variant, minus))
            if isinstance(stay, list):
                stays = reviews["review_id"].is_in(stay).to_numpy()
                columns |= _where_the_first_stays(values[stays], n_needed, confidence)
        parts.append(
            cells.with_columns(
                pl.lit(model).alias("model"),
                pl.lit(variant).alias("variant"),
                pl.lit(minus).alias("minus"),
                pl.lit(reason, dtype=pl.String).alias("reason"),
                pl.lit(share, dtype=pl.Float64).alias("share_changed"),
                *(pl.Series(name, column) for name, column in columns.items()),
            )
        )
    # what is not tested has no numbers
    table = pl.concat([pl.DataFrame(schema=CONTRASTS_SCHEMA), *parts], how="diagonal_relaxed")
    table = table.with_columns(pl.selectors.float().fill_null(np.nan))
    q_values = pl.Series("q_value", benjamini_hochberg(table["p_value"].to_numpy()))
    return table.with_columns(q_values).select(*CONTRASTS_SCHEMA).cast(CONTRASTS_SCHEMA)


def _numbers(values: np.ndarray, cells: pl.DataFrame, flips: np.ndarray, confidence: float) -> dict[str, np.ndarray]:
    """The columns of the differences `values` (reviews, cells), without q."""
    low, high = mean_interval(values, confidence)
    effect = effect_size(values)
    robust = zip(("robust", "robust_low", "robust_high"), hodges_lehmann(values, confidence), strict=True)
    kept = zip(("kept", "kept_low", "kept_high"), trimmed_mean(values, confidence), strict=True)
    return {
        "n_reviews": (~np.isnan(values)).sum(axis=0),
        "mean": means(values),
        "median": medians(values),
        "ci_low": low,
        "ci_high": high,
        **dict(robust),
        **dict(kept),
        "effect_size": effect,
        "skewness": skewness(values),
        **_tests(values, cells, flips),
        "n_80": reviews_for_power(effect, power=0.8, alpha=1 - confidence),
    }


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


def _tests(values: np.ndarray, cells: pl.DataFrame, flips: np.ndarray) -> dict[str, np.ndarray]:
    """The p of each cell, (cells,), and the same corrected over the layers of the same point, view and metric."""
    p = np.empty((2, len(cells)))
    for family in cells.group_by(_FAMILY).agg(pl.col("cell"))["cell"]:
        p[:, family.to_numpy()] = flip_p(values[:, family.to_numpy()], flips)
    return {"p_value": p[0], "p_max_t": p[1]}


def _on_common_length(
    matrices: Sequence[np.ndarray], confidence: float, shape: tuple[int, int]
) -> dict[str, np.ndarray | pl.Series]:
    """The columns `_common` of the matrices of both variants: NaN and null where no review has both values."""
    values = _differences(*matrices) if len(matrices) == 2 else np.full(shape, np.nan)
    low, high = mean_interval(values, confidence)
    return {
        "mean_common": means(values),
        "ci_low_common": low,
        "ci_high_common": high,
        "n_common": pl.Series((~np.isnan(values)).sum(axis=0)).replace(0, None),
    }


def _where_the_first_stays(values: np.ndarray, least: int, confidence: float) -> dict[str, np.ndarray]:
    """The columns `_same_first` of differences of reviews whose first token stays; NaN for fewer than `least`."""
    numbers = [means(values), *mean_interval(values, confidence)]
    numbers = [np.where(len(values) >= least, column, np.nan) for column in numbers]
    names = (f"{name}_same_first" for name in ("mean", "ci_low", "ci_high"))
    return {"n_same_first": (~np.isnan(values)).sum(axis=0), **dict(zip(names, numbers, strict=True))}


def tabulate(
    inputs: Any,
    contrasts: Sequence[tuple[str, str]],
    metrics: Sequence[str],
    n_reviews: int,
    min_reviews: int,
    margin: float,
    draws: int,
    confidence: float,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `contrasts`, of the metrics named `metrics`, and `comparisons`.

    Args:
        inputs: files of the tables `metrics`, `similarity`, `opening_tokens`, `common_length` and `balance`; the last
            two are empty where the study sets no common number of tokens, or has no controls.
        contrasts: pairs (variant, minus).
        metrics: names of metrics.
        n_reviews: reviews of the sample.
        min_reviews: fewest reviews, accepted in both variants with texts that differ, with which a contrast is tested.
        margin: share of what depth does to a metric, or of how far reviews lie apart where that is more, within which a
            difference is negligible.
        draws: number of sign flips.
        confidence: level of the intervals.
        seed: seed of the flips.
    """
    balance = read_csv(inputs.balance, BALANCE_SCHEMA) if inputs.balance else None
    similarity = read_table(inputs.similarity)
    comparisons = comparisons_table(similarity, contrasts, n_reviews, min_reviews, balance)
    for variant, minus, reason in comparisons.filter(~pl.col("tested")).select("variant", "minus", "reason").rows():
        logging.warning("%s minus %s is not tested: %s", variant, minus, reason)
    if len(comparisons) and not comparisons["tested"].any():
        logging.warning("no comparison of variants is tested: the study describes the originals alone")
    common = read_table(inputs.common_length) if inputs.common_length else None
    shared = comparisons, similarity, metrics, margin, draws, confidence, seed
    read = [read_table(path) for path in (inputs.metrics, inputs.opening_tokens)]
    table = contrast_table(read[0], common, *shared, read[1])
    return table, comparisons
