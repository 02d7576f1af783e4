"""The table `balance`, and the covariates in which a control differs too much from its variant."""

import polars as pl

BALANCE_SCHEMA = {
    "variant": pl.String,
    "control": pl.String,
    "role": pl.String,
    "model": pl.String,
    "covariate": pl.String,
    "mean": pl.Float64,
    "mean_control": pl.Float64,
    "smd": pl.Float64,
    "n_reviews": pl.Int64,
    "balanced": pl.Boolean,
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
