"""Verdicts in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.findings import findings
from homogenization.names.numbers import probability, share_in_words, significant
from homogenization.names.prose import interval
from homogenization.names.verdicts import NOT_TESTED, POOLS, REVIEWS, SEEDS, STUDY

_UNITS = {POOLS: "pools of texts", SEEDS: "seeds"}


def verdicts_table(claims: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """The table `verdicts`: the verdicts in words, a row for each claim and a column for each model.

    A verdict on texts, or on several models together, stands in all columns. Where there are no others, they have one.

    Args:
        claims: the table `claims`.
        models: names of the columns after those of the claim.
    """
    columns = ("statement", "measured", "convention", "source", "criterion")
    models = [STUDY] if claims["model"].is_null().all() else models
    rows = []
    for (name,), of_claim in claims.group_by("claim", maintain_order=True):
        words = {row["model"]: in_words(row) for row in of_claim.iter_rows(named=True)}
        shared = of_claim.select(columns).row(0)
        rows.append((*shared, name, *(words.get(model, words.get(None)) for model in models)))
    return pl.DataFrame(rows, schema=dict.fromkeys((*columns, "claim", *models), pl.String), orient="row")


def in_words(row: Mapping[str, Any]) -> str:
    """The verdict of one row of the table `claims`.

    It reads `supported: −0.012 [−0.015, −0.009], 3.1 % of depth (range 0.39) more alike, n 499, p .0003`; what turns a
    fragile one follows. The share of the texts that changed stands behind n where some did not.
    """
    if row["verdict"] == NOT_TESTED:
        return f"{NOT_TESTED}: {row['reason']}"
    parts = [interval(row)]
    if np.isfinite(row["relative_effect"]):
        (found,) = findings([row], {})
        depth = f"of depth (range {significant(row['depth_range'], 2)})"
        parts.append(f"{share_in_words(found.share)} {depth} {found.side}".strip())
    parts.append(f"n {row['n_reviews']}" if row["unit"] == REVIEWS else f"{row['n_reviews']} {_UNITS[row['unit']]}")
    if row["share_changed"] < 1:
        parts.append(f"{share_in_words(row['share_changed'])} of the texts changed")
    if np.isfinite(row["p_max_t"]):
        parts.append(f"p {probability(row['p_max_t'])}")
    parts += [f"fragile: {row['why_fragile']}"] if row["fragile"] else []
    parts += [said] if (said := where_the_first_stays(row)) else []
    parts += [row["reason"]] if row["reason"] else []
    return f"{row['verdict']}: {', '.join(parts)}"


def where_the_first_stays(row: Mapping[str, Any]) -> str:
    """What the reviews whose first token stays say of a verdict; empty where this is the same, or all are such."""
    if row["n_same_first"] in (None, row["n_reviews"]):
        return ""
    if row["verdict_same_first"] is None:
        return f"the first token stays in {row['n_same_first']}, too few to tell it apart"
    if not row["first_decides"]:
        return ""
    numbers = interval(row, "same_first")
    return f"where the first token stays {row['verdict_same_first']}: {numbers}, n {row['n_same_first']}"


def criterion_in_words(claim: Mapping[str, Any]) -> str:
    """The criterion of a claim (`Claim.as_params()`): `> 0.6`, `< 0` or `0.6 to 0.7`."""
    if "between" in claim:
        low, high = claim["between"]
        return f"{significant(low)} to {significant(high)}"
    return f"> {significant(claim['above'])}" if "above" in claim else f"< {significant(claim['below'])}"
