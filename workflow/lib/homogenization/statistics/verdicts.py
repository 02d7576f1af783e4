"""The names of the verdicts, and verdicts in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.statistics.words import probability, significant

SUPPORTED, CONTRADICTED, UNDECIDED, NOT_TESTED = "supported", "contradicted", "undecided", "not tested"


def verdicts_table(claims: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """The table `verdicts`: the verdicts in words, a row for each claim and a column for each model.

    Args:
        claims: the table `claims`.
        models: names of the columns after statement, source and criterion.
    """
    columns = ("statement", "source", "criterion")
    rows = []
    for _, of_claim in claims.group_by("claim", maintain_order=True):
        found = {row["model"]: in_words(row) for row in of_claim.iter_rows(named=True)}
        shared = of_claim.select(columns).row(0)
        rows.append((*shared, *(found.get(model, found.get(None)) for model in models)))
    return pl.DataFrame(rows, schema=dict.fromkeys((*columns, *models), pl.String), orient="row")


def in_words(row: Mapping[str, Any]) -> str:
    """The verdict of one row of the table `claims`: `supported: −0.012 [−0.015, −0.009], n 499, q .0003`."""
    if row["verdict"] == NOT_TESTED:
        return f"{NOT_TESTED}: {row['reason']}"
    found = significant(row["estimate"])
    if np.isfinite(row["ci_low"]):
        found += f" [{significant(row['ci_low'])}, {significant(row['ci_high'])}]"
    if np.isfinite(row["q_value"]):
        return f"{row['verdict']}: {found}, n {row['n_reviews']}, q {probability(row['q_value'])}"
    return f"{row['verdict']}: {found}, n {row['n_reviews']}"


def criterion_in_words(claim: Mapping[str, Any]) -> str:
    """The criterion of a claim (`Claim.as_params()`): `> 0.6`, `< 0` or `0.6 to 0.7`."""
    if "between" in claim:
        low, high = claim["between"]
        return f"{significant(low)} to {significant(high)}"
    return f"> {significant(claim['above'])}" if "above" in claim else f"< {significant(claim['below'])}"
