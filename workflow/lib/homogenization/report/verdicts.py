"""The verdicts of claims as people read them: a table of claims and models, and all claims with their reasons."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.figures.shown import Named
from homogenization.metrics.registry import WITHOUT_FIRST
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.verdicts import NOT_TESTED
from homogenization.report.page import grouped

Row = dict[str, Any]
_BETWEEN = " − "  # the variants of the column `compared`


def numbered(claims: pl.DataFrame, models: Named) -> list[Row]:
    """Each claim with its rows, in the order of the table: `number` from 1, `statement`, `rows`.

    A row is one of the table, with the `label` of its model, and whether it stands `beside` another one: the same claim
    in the view of all tokens, beside the one without the first token.
    """
    without = pl.col("view").str.ends_with(WITHOUT_FIRST).fill_null(False)
    order = {name: place for place, (name, _) in enumerate(models)}
    told = claims.with_columns(
        beside=~without & without.any().over("claim"),
        label=pl.col("model").replace(dict(models)).fill_null("all models"),
        place=pl.col("model").replace_strict(order, default=-1, return_dtype=pl.Int64),
    )
    rows = told.sort("beside", "place", maintain_order=True).iter_rows(named=True)
    of_claims = grouped(rows, lambda row: row["claim"])
    names = claims["claim"].unique(maintain_order=True)
    return [
        {"number": number, "statement": of_claims[name][0]["statement"], "claim": name, "rows": of_claims[name]}
        for number, name in enumerate(names, 1)
    ]


def main_claims(claims: Iterable[Row]) -> list[Row]:
    """The tested ones of the first headline metric that has any; without such a metric, all that are tested."""
    tested = [claim for claim in claims if any(row["verdict"] != NOT_TESTED for row in claim["rows"])]
    metrics = {claim["rows"][0]["metric"] for claim in tested}
    first = next((metric for metric in HEADLINE_METRICS if metric in metrics), None)
    return [claim for claim in tested if first in (None, claim["rows"][0]["metric"])]


def cells(claim: Row) -> dict[str, Row]:
    """The row of each model, by its label, in the headline view."""
    return {row["label"]: row for row in claim["rows"] if not row["beside"]}


def with_both_views(claims: Iterable[Row]) -> tuple[int, list[Row]]:
    """How many claims are judged with the first token too, and those with another verdict there in a model."""
    both = [claim for claim in claims if any(row["beside"] for row in claim["rows"])]
    return len(both), [
        claim
        for claim in both
        if any(row["verdict"] != cells(claim)[row["label"]]["verdict"] for row in claim["rows"] if row["beside"])
    ]


def group_cells(claim: Row, contrasts: pl.DataFrame) -> dict[str, dict[str, Row]]:
    """The differences of each group of reviews, for a claim on a contrast: by group and label of the model."""
    found: dict[str, dict[str, Row]] = {}
    for label, row in cells(claim).items():
        variant, between, minus = (row["compared"] or "").partition(_BETWEEN)
        if not between:
            continue
        keys = {"variant": variant, "minus": minus, **{name: row[name] for name in ("model", "metric", "view")}}
        rows = contrasts.filter(pl.col("group").is_not_null(), point=RESIDUAL_STREAM, **keys)
        at_output = pl.col("layers").is_null() & (pl.col("layer") == pl.col("layer").max())
        rows = rows.filter(at_output if row["layers"] == "output" else pl.col("layers") == row["layers"])
        for of_group in rows.with_columns(estimate="mean").iter_rows(named=True):
            found.setdefault(of_group["group"], {})[label] = of_group
    return found


def marked(claims: Iterable[Row], imbalance: Mapping[str, str]) -> dict[str, list[str]]:
    """Footnotes, each with the labels of what it is about; the rows of these claims get `mark` where they have one.

    Args:
        claims: the claims that are shown.
        imbalance: by what is `compared`, in what its control is out of balance.
    """
    notes: dict[str, list[str]] = {}
    for claim in claims:
        for row in cells(claim).values():
            out_of_balance = imbalance.get(row["compared"])
            note = out_of_balance and f"the control is out of balance: {out_of_balance}"
            note = row["reason"] if row["verdict"] != NOT_TESTED and row["reason"] else note
            row["mark"] = "*" if note else ""
            if note:
                notes.setdefault(note, []).append(str(claim["number"]))
    return notes
