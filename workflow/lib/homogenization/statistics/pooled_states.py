"""The table `probes`: what is read of pooled states, layer by layer, with intervals over reviews."""

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from homogenization.names.columns import columns, condition_columns, table_of
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.estimates import averages, flip_tests
from homogenization.statistics.resampling import Resampling
from homogenization.tables.comparisons import same_texts
from homogenization.tables.intervened import CONDITION, UNTOUCHED
from homogenization.tables.over_reviews import as_array

_KEYS = {**columns("model"), **condition_columns(*CONDITION), **columns("variant")}
_NUMBERS = {
    **columns("layer", "depth", "n_reviews", "estimate", "ci_low", "ci_high"),
    "p_value": pl.Float64,  #: sign flips of a difference; NaN of a level
    **columns("p_max_t"),  # the family is the layers
}
#: A row for each model, condition, text (`variant`), quantity, comparison and layer
#: ([consequences](consequences.md#what-is-measured)).
PROBES_SCHEMA = {
    **_KEYS,
    #: `log_loss` in nats, `accuracy`, and the same with permuted labels: `null_log_loss`, `null_accuracy`, of the
    #: originals alone
    "quantity": pl.String,
    #: null for a level; what is subtracted review by review: `original` or a control, in the same condition, over the
    #: reviews whose two texts differ, or `untouched`, with the same text; of `log_loss` alone
    "minus": pl.String,
    **_NUMBERS,
}
QUANTITIES = {  # column of the readings -> quantity of the table
    "log_loss": "log_loss",
    "correct": "accuracy",
    "null_log_loss": "null_log_loss",
    "null_correct": "null_accuracy",
}
_COMPARED = "log_loss"  # the column that is compared with originals and controls

_Key = tuple[tuple, str]  # condition and variant


def with_condition(rows: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """`rows` by review and condition with the columns of `CONDITION`; draws of one condition are still apart."""
    conditions = texts.select("model", "variant", "review_id", "condition", *CONDITION)
    return rows.join(conditions, on=("model", "variant", "review_id", "condition"), maintain_order="left")


def probes_table(
    readings: pl.DataFrame,
    similarity: pl.DataFrame,
    controls: Mapping[str, Mapping[str, str]],
    resampling: Resampling,
) -> pl.DataFrame:
    """Log-loss and accuracy of probes by layer, and differences of the log-loss: `PROBES_SCHEMA`.

    `minus` is null for a level. For a variant it is `original` and each control, in the same condition; for a condition
    it is `untouched`, with the same text. Differences are taken review by review; those of two texts over the reviews
    in which they differ.

    Args:
        readings: `POOLED_READINGS_SCHEMA` with the columns of `CONDITION`.
        similarity: tables/similarity.parquet.
        controls: by variant and role, the name of its control.
        resampling: sign flips, and the level of the intervals.
    """
    parts = [pl.DataFrame(schema=PROBES_SCHEMA)]
    for column, quantity in QUANTITIES.items():
        rows = _by_layer(readings, similarity, column, controls, resampling)
        parts.append(rows.with_columns(quantity=pl.lit(quantity)).select(*PROBES_SCHEMA))
    return pl.concat(parts)


def _by_layer(
    readings: pl.DataFrame,
    similarity: pl.DataFrame,
    column: str,
    controls: Mapping[str, Mapping[str, str]],
    resampling: Resampling,
) -> pl.DataFrame:
    """Rows of a column of `readings`: levels, and differences of what is compared."""
    parts = [pl.DataFrame(schema=PROBES_SCHEMA)]
    for (model,), of_model in sorted(readings.partition_by("model", as_dict=True).items()):
        values, layers = matrices(of_model, column)
        reviews = of_model["review_id"].unique().sort()
        flips = resampling.sign_flips(len(reviews))
        for key in values:
            condition, variant = key
            labels = {"model": model, "variant": variant, **dict(zip(CONDITION, condition, strict=True))}
            labels |= layers.to_dict()
            level = averages(values[key], resampling.confidence) | flip_tests(values[key], [], flips)
            parts.append(table_of(labels | level, PROBES_SCHEMA))
            for minus, other in _compared(values, key, controls) if column == _COMPARED else ():
                difference = values[key] - values[other]
                if other[1] != variant:
                    same = same_texts(similarity, variant, other[1])["review_id"]
                    difference[reviews.is_in(same.implode()).to_numpy()] = np.nan
                numbers = averages(difference, resampling.confidence)
                numbers |= flip_tests(difference, [np.arange(len(layers))], flips)
                parts.append(table_of(labels | {"minus": minus} | numbers, PROBES_SCHEMA))
    table = pl.concat(parts)
    keys = [*_KEYS, "minus", "layer"]
    return table.filter(pl.col("n_reviews") > 0).sort(keys, nulls_last=False)


def matrices(rows: pl.DataFrame, column: str) -> tuple[dict[_Key, np.ndarray], pl.DataFrame]:
    """By condition and variant, (reviews, layers) of a column of one model's rows; and layer and depth.

    Draws of one condition are averaged. Reviews are sorted by name; NaN where a review has no value.
    """
    reviews = rows.select("review_id").unique().sort("review_id")
    layers = rows.select("layer", "depth").unique().sort("layer")
    means_of_draws = (
        rows.filter(pl.col(column).is_not_nan())
        .group_by(*CONDITION, "variant", "review_id", "layer", maintain_order=True)
        .agg(pl.col(column).mean())
    )
    texts = means_of_draws.select(*CONDITION, "variant").unique(maintain_order=True)
    values = as_array(means_of_draws, column, texts, reviews, layers.select("layer"))
    keys = [(tuple(condition), variant) for *condition, variant in texts.rows()]
    return dict(zip(keys, values, strict=True)), layers


def _compared(
    values: Mapping[_Key, np.ndarray],
    key: _Key,
    controls: Mapping[str, Mapping[str, str]],
) -> Iterator[tuple[str, _Key]]:
    """What a condition and variant is compared with: its name and its key."""
    condition, variant = key
    others = [ORIGINAL, *controls.get(variant, {}).values()] if variant != ORIGINAL else []
    for other in dict.fromkeys(others):
        if (condition, other) in values:
            yield other, (condition, other)
    if condition[0] != UNTOUCHED:
        untouched = next(((one, name) for one, name in values if (one[0], name) == (UNTOUCHED, variant)), None)
        if untouched is not None:
            yield UNTOUCHED, untouched
