"""How variants differ from their controls in what else may move a metric: standardised mean differences."""

import logging
from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.variants import ORIGINAL
from homogenization.tables.comparisons import same_texts

#: A row for each variant, control, covariate and, where the covariate depends on it, model: over the reviews that are
#: accepted in both with texts that differ, and have the covariate in both. It exists if a variant has a control, or if
#: two rewritten variants are contrasted. The page on [statistics](statistics.md#balance) defines the covariates.
BALANCE_SCHEMA = {
    **columns("variant"),
    "control": pl.String,  #: name of the variant that is its control
    #: `edge`, `key`, `side` or `rewriting`; empty for two variants that `contrasts.pairs` compares and neither of which
    #: controls the other
    "role": pl.String,
    "model": pl.String,  #: for `tokens`; otherwise empty
    "covariate": pl.String,  #: `displacement`, `first_word_changed`, `tokens`, `f1` or `loss_per_word`
    "mean": pl.Float64,  #: over the variant's texts
    "mean_control": pl.Float64,  #: over the control's texts
    #: standardised mean difference; `inf` or `-inf` where the means differ and no review departs from them, NaN for
    #: fewer than two reviews
    "smd": pl.Float64,
    **columns("n_reviews"),
    "balanced": pl.Boolean,  #: its absolute value is at most `MAX_IMBALANCE`; empty where it is NaN
}
MAX_IMBALANCE = 0.25  # largest absolute standardised mean difference that counts as balanced (Rubin 2001)
SCHEMAS = {"balance": BALANCE_SCHEMA}
_ROUNDING = 1e-12  # smaller differences and spreads, as a fraction of the values, are rounding
_OF_TEXT = ("displacement", "first_word_changed", "f1", "loss_per_word")
_COVARIATES = (*_OF_TEXT[:2], "tokens", *_OF_TEXT[2:])  # in the order of the table


def tabulate(
    similarity: pl.DataFrame,
    predictions: pl.DataFrame,
    pairs: Sequence[tuple[str, str, str | None]],
) -> pl.DataFrame:
    """The table `balance` of `pairs` (variant, control, role); a covariate that no review has has no row."""
    values, parts = covariates(similarity, predictions), [pl.DataFrame(schema=BALANCE_SCHEMA)]
    for variant, control, role in pairs:
        differing = values.join(same_texts(similarity, variant, control), on="review_id", how="anti")
        keys = ["review_id", "model", "covariate"]
        sides = (differing.filter(variant=name) for name in (variant, control))
        both = next(sides).join(next(sides), on=keys, nulls_equal=True, suffix="_control").sort(keys)
        rows = both.group_by("model", "covariate").agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value_control").mean().alias("mean_control"),
            standardised_mean_difference("value", "value_control").alias("smd"),
            pl.len().alias("n_reviews"),
        )
        balanced = (pl.col("smd").abs() <= MAX_IMBALANCE).alias("balanced")
        named = {"variant": pl.lit(variant), "control": pl.lit(control), "role": pl.lit(role, pl.String)}
        rows = rows.with_columns(pl.when(pl.col("smd").is_not_nan()).then(balanced), **named)
        order = pl.col("covariate").cast(pl.Enum(_COVARIATES))
        parts.append(rows.sort(order, "model").select(*BALANCE_SCHEMA).cast(BALANCE_SCHEMA))
    balance = pl.concat(parts)
    for variant, control, covariate, smd in (
        balance.filter(~pl.col("balanced")).select("variant", "control", "covariate", "smd").rows()
    ):
        logging.info("%s and %s are out of balance: %s %+.2f", variant, control, covariate, smd)
    return balance


def covariates(similarity: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    """variant, review_id, model (null for a covariate of the text), covariate and value of accepted rewritings.

    displacement is the mean over phrases of |position - original_position|, as a fraction of the sentence; a phrase
    that is a whole sentence has no position. A covariate that a review does not have has no row.
    """
    moves = pl.element().struct.field("position") - pl.element().struct.field("original_position")
    of_text = similarity.filter("accepted").with_columns(
        pl.col("first_word_changed").cast(pl.Float64),
        displacement=pl.col("placements").list.eval(moves.abs()).list.mean(),
        model=pl.lit(None, pl.String),
    )
    index = ["variant", "review_id", "model"]
    long = of_text.unpivot(_OF_TEXT, index=index, variable_name="covariate")
    rewritten = predictions.filter(pl.col("variant") != ORIGINAL)
    tokens = rewritten.select(*index, covariate=pl.lit("tokens"), value=pl.col("n_tokens").cast(pl.Float64))
    return pl.concat([long, tokens]).drop_nulls("value")


def standardised_mean_difference(values: str, control: str) -> pl.Expr:
    """(mean of a column - mean of another) / sqrt((s² + s² of the other) / 2), variances with n - 1.

    The definition of Rosenbaum and Rubin (1985), as Austin (2009) uses it to judge balance. The spread is that between
    reviews, not that of paired differences: it says how far two groups of texts are apart. Equal means give 0 and
    different means without any spread ±infinity, both up to rounding; fewer than two values give NaN.
    """
    first, second = pl.col(values), pl.col(control)
    difference, spread = first.mean() - second.mean(), ((first.var() + second.var()) / 2).sqrt()
    rounding = _ROUNDING * pl.max_horizontal(first.abs().max(), second.abs().max())
    return (
        pl.when(pl.len() < 2)
        .then(float("nan"))
        .when(difference.abs() <= rounding)
        .then(0.0)
        .when(spread > rounding)
        .then(difference / spread)
        .otherwise(difference.sign() * float("inf"))
    )
