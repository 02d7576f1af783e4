"""The table `balance`, and the covariates in which a control differs too much from its variant."""

import polars as pl

from homogenization.names.columns import columns

#: A row for each variant, control, covariate and, where the covariate depends on it, model: over the reviews that are
#: accepted in both with texts that differ, and have the covariate in both. It exists if a variant has a control, or if
#: two rewritten variants are contrasted. The [method](method.md#balance) defines the covariates.
BALANCE_SCHEMA = {
    **columns("variant"),
    "control": pl.String,  #: name of the variant that is its control
    #: `edge`, `key` or `rewriting`; empty for two variants that `contrasts.pairs` compares and neither of which
    #: controls the other
    "role": pl.String,
    "model": pl.String,  #: for `tokens_per_word`; otherwise empty
    #: `displacement`, `order`, `phrases_together`, `bigrams_kept`, `sentences_changed`, `first_word_changed`, `words`,
    #: `tokens_per_word`, `f1` or `loss_per_word`
    "covariate": pl.String,
    "mean": pl.Float64,  #: over the variant's texts; NaN if no review is accepted in both, also in the next two columns
    "mean_control": pl.Float64,  #: over the control's texts
    #: standardised mean difference; `inf` or `-inf` where the means differ and no review departs from them, NaN for
    #: fewer than two reviews
    "smd": pl.Float64,
    **columns("n_reviews"),
    "balanced": pl.Boolean,  #: its absolute value is at most `contrasts.max_imbalance`; empty where it is NaN
}


def unbalanced(balance: pl.DataFrame) -> dict[tuple[str, str], list[str]]:
    """The unbalanced covariates of each (variant, control), in the order of the table; pairs without any are left out.

    A covariate that belongs to a model is followed by the model's name in brackets.

    Args:
        balance: tables/balance.csv, `BALANCE_SCHEMA`.
    """
    unbalanced: dict[tuple[str, str], list[str]] = {}
    rows = balance.filter(~pl.col("balanced"))
    for variant, control, covariate, model in rows.select("variant", "control", "covariate", "model").iter_rows():
        unbalanced.setdefault((variant, control), []).append(f"{covariate} ({model})" if model else covariate)
    return unbalanced
