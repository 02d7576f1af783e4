"""The verdicts of claims as people read them: a table of claims and models, and all claims with their reasons."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl

from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.metrics.registry import view_without_first
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.verdicts import NOT_TESTED
from homogenization.report.page import grouped

Row = dict[str, Any]
# a claim has its `number` from 1, `claim`, `statement` and `lines`, one for each of its layers and each view of these;
# a line has `cells`, the row of the table by label of the model, `with_first`, the row where the first token counts
# too, and `view`, "" where it is the view of the first line
Claim = dict[str, Any]
BETWEEN = " − "  # the variants of the column `compared`


def numbered(claims: pl.DataFrame, models: Mapping[str, str], imbalance: Mapping[str, str]) -> list[Claim]:
    """The claims of the table, in its order. Each row has a `note`, and a `mark` where it is tested and has one.

    Args:
        claims: the table `claims`.
        models: labels of models by their names, in their order.
        imbalance: by what is `compared`, in what its control is out of balance.
    """
    unlike = pl.col("compared").replace_strict(dict(imbalance), default=None, return_dtype=pl.String)
    note = pl.coalesce("reason", pl.format("the control is out of balance: {}", unlike)).fill_null("")
    indexed = claims.with_row_index("order").with_columns(
        label=pl.col("model").replace(models).fill_null("all models"),
        note=note,
        mark=pl.when(note != "", pl.col("verdict") != NOT_TESTED).then(pl.lit("*")).otherwise(pl.lit("")),
        order=pl.col("order").min().over("claim"),
        place=pl.col("model").replace_strict(list(models), range(len(models)), default=-1),
    )
    ordered = indexed.sort("order", "place", maintain_order=True).iter_rows(named=True)
    return [
        {"number": number, "claim": name, "statement": rows[0]["statement"], "lines": _lines(rows)}
        for number, (name, rows) in enumerate(grouped(ordered, lambda row: row["claim"]).items(), 1)
    ]


def _lines(rows: Sequence[Row]) -> list[dict[str, Any]]:
    views = {row["view"] for row in rows}

    def line_of(row: Row) -> tuple[str | None, str | None]:
        rest = view_without_first(row["view"] or "")
        return row["layers"], rest if rest in views else row["view"]

    lines = grouped(rows, line_of)
    _, first = next(iter(lines))
    return [
        {
            "view": "" if view == first else view,
            "cells": {row["label"]: row for row in of_line if row["view"] == view},
            "with_first": {row["label"]: row for row in of_line if row["view"] != view},
        }
        for (_, view), of_line in lines.items()
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
    """How many claims are tested with the first token too, and the numbers of those with another verdict there."""
    both = [(claim["number"], row["verdict"], beside["verdict"]) for claim, row, beside in cells(claims) if beside]
    tested = [(number, *verdicts) for number, *verdicts in both if NOT_TESTED not in verdicts]
    return len({number for number, *_ in tested}), sorted({number for number, one, other in tested if one != other})


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


def footnotes(claims: Iterable[Claim]) -> dict[str, list[int]]:
    """The notes on these claims, each with their numbers."""
    notes = grouped(((claim["number"], row["note"]) for claim, row, _ in cells(claims) if row["mark"]), itemgetter(1))
    return {note: list(dict.fromkeys(number for number, _ in of_note)) for note, of_note in notes.items()}
