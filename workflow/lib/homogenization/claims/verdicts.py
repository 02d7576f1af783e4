"""Verdicts in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.vocabulary.numbers import probability, share_in_words, significant
from homogenization.vocabulary.verdicts import NOT_TESTED, POOLS, REVIEWS, SEEDS, STUDY

_UNITS = {POOLS: "pools of texts", SEEDS: "seeds"}


def verdicts_table(claims: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """The table `verdicts`: the verdicts in words, a row for each claim and a column for each model.

    A verdict on texts, or on several models together, stands in all columns. Where there are no others, they have one.

    Args:
        claims: the table `claims`.
        models: names of the columns after statement, source and criterion.
    """
    columns = ("statement", "source", "criterion")
    models = [STUDY] if claims["model"].is_null().all() else models
    rows = []
    for _, of_claim in claims.group_by("claim", maintain_order=True):
        words = {row["model"]: in_words(row) for row in of_claim.iter_rows(named=True)}
        shared = of_claim.select(columns).row(0)
        rows.append((*shared, *(words.get(model, words.get(None)) for model in models)))
    return pl.DataFrame(rows, schema=dict.fromkeys((*columns, *models), pl.String), orient="row")


def in_words(row: Mapping[str, Any]) -> str:
    """The verdict of one row of the table `claims`.

    It reads `supported: −0.012 [−0.015, −0.009], 3.1 % of depth, n 499, q .0003`; what turns a fragile one follows.
    """
    if row["verdict"] == NOT_TESTED:
        return f"{NOT_TESTED}: {row['reason']}"
    estimate = significant(row["estimate"])
    if np.isfinite(row["ci_low"]):
        estimate += f" [{significant(row['ci_low'])}, {significant(row['ci_high'])}]"
    parts = [estimate]
    if np.isfinite(row["share_of_depth"]):
        parts.append(f"{share_in_words(row['share_of_depth'])} of depth")
    parts.append(f"n {row['n_reviews']}" if row["unit"] == REVIEWS else f"{row['n_reviews']} {_UNITS[row['unit']]}")
    if np.isfinite(row["q_value"]):
        parts.append(f"q {probability(row['q_value'])}")
    parts += [f"fragile: {row['why_fragile']}"] if row["fragile"] else []
    parts += [row["reason"]] if row["reason"] else []
    return f"{row['verdict']}: {', '.join(parts)}"


def criterion_in_words(claim: Mapping[str, Any]) -> str:
    """The criterion of a claim (`Claim.as_params()`): `> 0.6`, `< 0` or `0.6 to 0.7`."""
    if "between" in claim:
        low, high = claim["between"]
        return f"{significant(low)} to {significant(high)}"
    return f"> {significant(claim['above'])}" if "above" in claim else f"< {significant(claim['below'])}"
