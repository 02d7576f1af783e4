"""The table `claims`: a row of a table of estimates for each claim and model, and whether it meets the criterion."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import inf, isfinite, nan
from typing import Any

import polars as pl

from homogenization.claims.components import component_estimates
from homogenization.claims.keys import OUTPUT, POOLED_VIEW
from homogenization.names.columns import columns
from homogenization.names.points import FINAL_NORM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import DECIDED, NO, NOT_TESTED, UNDECIDED, YES
from homogenization.statistics.estimate import ONE_DECIDES, Settings

Row = Mapping[str, Any]
#: A row for each claim, model, part of the depth and view, in the order of the files of claims; numbers have four
#: significant digits.
CLAIMS_SCHEMA = {
    "claim": pl.String,  #: its name
    "statement": pl.String,  #: what is claimed
    **columns("model"),
    #: `contrast`, `effect`, `harm`, `component`; of depth `slope`, `net_change`, `net_change_after_first`, `steepest`;
    #: `correlation with` a metric of the first token
    "statistic": pl.String,
    **columns("metric", "view"),
    "compared": pl.String,  #: what is compared: `front − original`, or the variant
    #: `all`, `first`, `middle`, `last`: layers that are averaged; `output`; null for a statistic over depth
    "layers": pl.String,
    "verdict": pl.String,  #: `yes`, `no`, `negligible`, `undecided` or `not tested`
    "estimate": pl.Float64,  #: the mean of the row that the claim selects
    **columns("ci_low", "ci_high"),
    "yardstick": pl.Float64,  #: what a difference or change is measured by
    **columns("n_reviews"),
    "p": pl.Float64,  #: p of that row, corrected within its family, where it decides
    "reason": pl.String,  #: why the claim is not tested, or undecided where one review decides
}
SCHEMAS = {"claims": CLAIMS_SCHEMA}
_DIGITS = 4
_ROUNDING = 1e-9  # strengths that are written alike are equal
_MISSING = {
    "interventions": "the study changes no attention",
    "consequences": "the study measures no consequences",
    "components": "the study takes no blocks apart",
}
_ONE_POOL = "one pool of texts has no interval; a smaller corpus.shard_size makes more pools"
_NAMED = {"minus": "comparison with", "layers": "mean over the layers"}  # columns as reasons call them


def claims_table(
    claims: Sequence[Row], models: Sequence[str], tables: Mapping[str, pl.DataFrame | None]
) -> pl.DataFrame:
    """Every claim, judged on every model: the table `claims` (`CLAIMS_SCHEMA`), in the order of `claims`.

    Args:
        claims: rows of `config.claims.Claim.rows()`; those of one claim follow each other.
        models: names of the models, each once.
        tables: tables of estimates by name; None for one that the study does not make.
    """
    tables = {name: None if table is None else _selectable(table) for name, table in tables.items()}
    of_claims = (list(rows) for _, rows in groupby(claims, key=lambda claim: claim["claim"]))
    rows = [_row(claim, model, tables[claim["table"]]) for of in of_claims for model in models for claim in of]
    numbers = pl.selectors.float()
    return pl.DataFrame(rows, schema=CLAIMS_SCHEMA).with_columns(numbers.fill_nan(None).round_sig_figs(_DIGITS))


def judge(row: Row, criterion: Row) -> str:
    """Whether an estimate meets a criterion: `yes`, `no`, `negligible`, `undecided` or `not tested`.

    A claim about a side of 0 has the verdict of the row, and yes or no by the side of its mean. Another bound is one
    for the interval: yes if it lies within, no if it lies without, undecided where it holds the bound.

    Args:
        row: mean, ci_low, ci_high, verdict and reason of an estimate. A place over depth, which is no difference, is
            not tested and has an interval.
        criterion: `above` or `below`, a number, or `between`, a lower and an upper one.
    """
    if not isfinite(row["mean"]) or not isfinite(row["ci_low"]):
        return NOT_TESTED
    if 0 in criterion.values() and row["verdict"] is not None:
        claimed = (row["mean"] > 0) == ("above" in criterion)
        return (YES if claimed else NO) if row["verdict"] in DECIDED else row["verdict"]
    least, most = criterion.get("between", (criterion.get("above", -inf), criterion.get("below", inf)))
    if row["reason"] == ONE_DECIDES:
        return UNDECIDED
    if least <= row["ci_low"] and row["ci_high"] <= most:
        return YES
    return NO if row["ci_high"] < least or most < row["ci_low"] else UNDECIDED


def _selectable(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of all reviews together; the layer after the last block, and predictions, are the layers `output`."""
    table = table.with_columns(pl.selectors.float().fill_null(nan))
    if "group" in table.columns:
        table = table.filter(pl.col("group").is_null())
    if "point" in table.columns:
        depth = pl.col("depth")
        output = pl.when(pl.col("layers").is_null() & (depth.is_nan() | (depth == 1))).then(pl.lit(OUTPUT))
        table = table.filter(pl.col("point") != FINAL_NORM).with_columns(layers=output.otherwise("layers"))
    return table


def _find(rows: pl.DataFrame, where: Row) -> Row | str:
    """The row of a claim, or why there is none."""
    for column, value in where.items():
        same = (pl.col(column) - value).abs() < _ROUNDING if isinstance(value, float) else pl.col(column) == value
        if (left := rows.filter(same)).is_empty():
            return f"the study has no {_NAMED.get(column, column)} {value} here; it has {_listed(rows[column])}"
        rows = left
    if len(rows) > 1:
        column = next(name for name in rows.columns if rows[name].n_unique() > 1)
        return f"the study has several of {column} here; the claim has to name one of {_listed(rows[column])}"
    return rows.row(0, named=True)


def _listed(values: pl.Series) -> str:
    return ", ".join(map(str, values.unique().drop_nulls().sort())) or "none"


def _row(claim: Row, model: str, table: pl.DataFrame | None) -> dict[str, Any]:
    where = claim["where"]
    row = {name: claim[name] for name in ("claim", "statement", "statistic")} | {"model": model}
    row |= {name: where.get(name) for name in ("metric", "view", "layers")} | {"compared": _compared(where)}
    found = _MISSING[claim["table"]] if table is None else _find(table, {"model": model} | where)
    if isinstance(found, str):
        return row | {"verdict": NOT_TESTED, "n_reviews": 0, "reason": found}
    verdict, reason = judge(found, claim["criterion"]), found["reason"]
    if verdict == NOT_TESTED:
        reason = reason or (_ONE_POOL if where["view"] == POOLED_VIEW else "fewer than two reviews have a value")
    row |= {name: found[name] for name in ("ci_low", "ci_high", "yardstick", "n_reviews")}
    row |= {"verdict": verdict, "estimate": found["mean"]}
    row["p"] = found["p_max_t"] if 0 in claim["criterion"].values() else None
    return row | {"reason": reason if verdict == NOT_TESTED or reason == ONE_DECIDES else None}


def _compared(where: Row) -> str:
    """`front − original`, `first 0.1 − removed at equal KL`, or the variant."""
    one = where.get("component", where["variant"])
    if "pattern" in where:
        told = [where["pattern"], f"{where['strength']:g}" if "strength" in where else None]
        one = " ".join(filter(None, [*told, f"in {one}" if one != ORIGINAL else None]))
    return f"{one} − {where['minus']}" if "minus" in where else one


def tabulate(
    claims: Sequence[Row], models: Sequence[str], resampling: Row, **given: pl.DataFrame | None
) -> pl.DataFrame:
    """The table `claims`; as `claims_table`, but `given` the table `components`, which `resampling` is for."""
    named = [claim["where"]["component"] for claim in claims if claim["table"] == "components"]
    if named and given["components"] is not None:
        given["components"] = component_estimates(given["components"], named, Settings(**resampling))
    judged = claims_table(claims, models, given)
    print(judged.select("claim", "model", "view", "layers", "verdict", "estimate", "ci_low", "ci_high"))
    return judged
