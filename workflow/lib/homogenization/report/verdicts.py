"""The verdicts of claims as people read them: a table of claims and models, and all claims with their reasons."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.metrics.registry import WITHOUT_FIRST
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.verdicts import NOT_TESTED
from homogenization.report.page import grouped

Row = dict[str, Any]
# a claim has its `number` from 1, `claim`, `statement` and `lines`, one for each of its layers; a line has `cells`, the
# row of the table by label of the model, and `with_first`, the row of the view of all tokens beside it
Claim = dict[str, Any]
BETWEEN = " − "  # the variants of the column `compared`


def numbered(claims: pl.DataFrame, models: Mapping[str, str]) -> list[Claim]:
    """The claims of the table, in its order; labels of models by their names, in their order."""
    without = pl.col("view").str.ends_with(WITHOUT_FIRST).fill_null(False)
    indexed = claims.with_row_index("order").with_columns(
        with_first=~without & without.any().over("claim", "layers"),
        label=pl.col("model").replace(models).fill_null("all models"),
        mark=pl.lit(""),
        order=pl.col("order").min().over("claim"),
        place=pl.col("model").replace_strict(list(models), range(len(models)), default=-1),
    )
    ordered = indexed.sort("order", "place", maintain_order=True).iter_rows(named=True)
    return [
        {"number": number, "claim": name, "statement": rows[0]["statement"], "lines": _lines(rows)}
        for number, (name, rows) in enumerate(grouped(ordered, lambda row: row["claim"]).items(), 1)
    ]


def _lines(rows: Iterable[Row]) -> list[dict[str, dict[str, Row]]]:
    return [
        {
            "cells": {row["label"]: row for row in of_layers if not row["with_first"]},
            "with_first": {row["label"]: row for row in of_layers if row["with_first"]},
        }
        for of_layers in grouped(rows, lambda row: row["layers"]).values()
    ]


def cells(claims: Iterable[Claim]) -> Iterator[tuple[Claim, Row, Row | None]]:
    """Each claim with a row of it, and the row of the same with the first token where there is one."""
    for claim in claims:
        for line in claim["lines"]:
            for label, row in line["cells"].items():
                yield claim, row, line["with_first"].get(label)


def main_claims(claims: Iterable[Claim]) -> list[Claim]:
    """The tested ones of the first headline metric that has any; without such a metric, all that are tested."""
    tested = {claim["number"]: (claim, row) for claim, row, _ in cells(claims) if row["verdict"] != NOT_TESTED}
    metrics = {row["metric"] for _, row in tested.values()}
    first = next((metric for metric in HEADLINE_METRICS if metric in metrics), None)
    return [claim for claim, row in tested.values() if first in (None, row["metric"])]


def untested(claims: Iterable[Claim]) -> dict[int, list[str]]:
    """By its number, why a claim is tested in no model."""
    rows = grouped(((claim["number"], row) for claim, row, _ in cells(claims)), lambda pair: pair[0])
    return {
        number: list(dict.fromkeys(row["reason"] for _, row in of_claim if row["reason"]))
        for number, of_claim in rows.items()
        if all(row["verdict"] == NOT_TESTED for _, row in of_claim)
    }


def with_both_views(claims: Iterable[Claim]) -> tuple[int, list[int]]:
    """How many claims are judged with the first token too, and the numbers of those with another verdict there."""
    both = [(claim["number"], row["verdict"], beside["verdict"]) for claim, row, beside in cells(claims) if beside]
    return len({number for number, *_ in both}), sorted({number for number, one, other in both if one != other})


def of_groups(line: Mapping[str, Any], contrasts: pl.DataFrame) -> dict[str, dict[str, Row]]:
    """The differences of groups of reviews that belong to a line on a contrast: by group and label of the model."""
    found: dict[str, dict[str, Row]] = {}
    of_contrasts = contrasts.filter(pl.col("group").is_not_null(), point=RESIDUAL_STREAM)
    for label, row in line["cells"].items():
        variant, _, minus = (row["compared"] or "").partition(BETWEEN)
        keys = {"variant": variant, "minus": minus, **{name: row[name] for name in ("model", "metric", "view")}}
        rows = of_contrasts.filter(pl.col(name).eq_missing(pl.lit(value)) for name, value in keys.items())
        at_output = pl.col("layers").is_null() & (pl.col("layer") == pl.col("layer").max())
        rows = rows.filter(
            at_output if row["layers"] == "output" else pl.col("layers").eq_missing(pl.lit(row["layers"]))
        )
        for of_group in rows.with_columns(estimate="mean", mark=pl.lit("")).iter_rows(named=True):
            found.setdefault(of_group["group"], {})[label] = of_group
    return found


def marked(claims: Iterable[Claim], imbalance: Mapping[str, str]) -> dict[str, list[str]]:
    """Footnotes, each with the numbers of its claims; the rows that have one get a `mark`.

    Args:
        claims: the claims that are shown.
        imbalance: by what is `compared`, in what its control is out of balance.
    """
    notes: dict[str, list[str]] = {}
    for claim, row, _ in cells(claims):
        if row["verdict"] != NOT_TESTED and (row["reason"] or row["compared"] in imbalance):
            row["mark"] = "*"
            note = row["reason"] or f"the control is out of balance: {imbalance[row['compared']]}"
            notes.setdefault(note, []).append(str(claim["number"]))
    return notes
