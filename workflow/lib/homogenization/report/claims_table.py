"""The table of claims: what the report says of each claim in each model, and why others are not tested."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import polars as pl

from homogenization.figures.shown import Named
from homogenization.metrics.catalogue import likeness
from homogenization.names.verdicts import LESS_ALIKE, MORE_ALIKE, NOT_TESTED
from homogenization.report.page import grouped


def claims_told(claims: pl.DataFrame, comparisons: pl.DataFrame, models: Named) -> dict[str, Any]:
    """What the template of the page needs of the claims.

    Args:
        claims: the table `claims`.
        comparisons: the table `comparisons`, which says what is out of balance.
        models: (name, label) of each model.

    Returns:
        `sources`: the tested rows of `claims` by source and claim, in the order of both tables and of `models`, each
        also with `label` of the model, `side` of the difference, and `imbalance` between the two variants.
        `untested`: by reason and statement, the labels of the models in which a claim is not tested.
    """
    labels = {None: "all models", **dict(models)}
    imbalance = {(row["variant"], row["minus"]): row["imbalance"] for row in comparisons.iter_rows(named=True)}
    claim, model = pl.Enum(claims["claim"].unique(maintain_order=True)), pl.Enum([name for name, _ in models])
    in_order = claims.sort(pl.col("claim").cast(claim), pl.col("model").cast(model), maintain_order=True)
    rows = [
        row
        | {"label": labels[row["model"]], "side": _side(row)}
        | {"imbalance": imbalance.get((row["variant"], row["minus"]))}
        for row in in_order.iter_rows(named=True)
    ]
    return {
        "sources": grouped(
            [row for row in rows if row["verdict"] != NOT_TESTED], lambda row: row["source"], lambda row: row["claim"]
        ),
        "untested": grouped(
            [row for row in rows if row["verdict"] == NOT_TESTED],
            lambda row: row["reason"] or "no result",
            lambda row: row["statement"],
            lambda row: row["label"],
        ),
    }


def _side(row: Mapping[str, Any]) -> str:
    """Whether tokens are `more alike` or `less alike` where the estimate is a difference of how alike they are."""
    towards = row["estimate"] * likeness(row["metric"]) if row["metric"] and isfinite(row["relative_effect"]) else 0
    return MORE_ALIKE if towards > 0 else LESS_ALIKE if towards < 0 else ""
