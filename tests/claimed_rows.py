"""The row of a table of estimates in which a claim's number stands: each number has one estimate and one verdict."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.names.verdicts import CONTRADICTED, DECIDED, SUPPORTED

Row = Mapping[str, Any]
Tables = Mapping[str, pl.DataFrame]
# statistics whose numbers stand in claims.csv alone; contrasts of pooled tokens do as well
OF_CLAIMS_ALONE = {"component", "consequence"}
_CHANGES = {"slope": "slope", "steepest": "steepest", "input": "net_change", "first block": "net_change_after_first"}
_SAME = ("ci_low", "ci_high", "p_value", "p_max_t", "relative_effect")
_READ = ("contrasts", "depth", "interventions", "first_token")


def rows_of_claims(study: Any, folder: Path) -> int:
    """Compare the claims of a finished study with the tables in `folder`; the number of rows found."""
    claims = pl.read_csv(folder / "claims.csv", schema_overrides=CLAIMS_SCHEMA)
    paths = {name: folder / f"{name}.parquet" for name in _READ}
    tables = {name: pl.read_parquet(path) for name, path in paths.items() if path.exists()}
    return assert_one_estimate_and_one_verdict(study.judged_claims, claims, tables)


def assert_one_estimate_and_one_verdict(judged: Sequence[Row], claims: pl.DataFrame, tables: Tables) -> int:
    """Compare each tested claim with its row, or with what follows from its rows; the number of claims that have one.

    Args:
        judged: the claims as they are configured.
        claims: the table `claims`.
        tables: tables of estimates by name.
    """
    n_found = 0
    configured = {claim["claim"]: claim for claim in judged}
    for row in claims.filter(pl.col("verdict") != "not tested").iter_rows(named=True):
        claim = configured[row["claim"]]
        if (place := _place(claim)) is None:
            if (followed := _estimate_of_rows(claim, row, tables)) is not None:
                n_found += 1
                np.testing.assert_allclose(row["estimate"], followed, rtol=1e-9, err_msg=row["claim"])
            continue
        table, keys = place
        cell = {name: claim[name] for name in ("variant", "view", "metric")}
        if claim["convention"] == "thesis":
            cell["view"] = "pooled_centred"
        (found,) = tables[table].filter(**cell, **keys, model=row["model"]).iter_rows(named=True)
        n_found += 1
        estimate = found["mean"] if "mean" in found else found["estimate"]
        about_nothing = 0 in (claim.get("above"), claim.get("below"))
        same = [name for name in _SAME if about_nothing and name in found]
        compared = [(row["estimate"], estimate), *((row[name], found[name]) for name in same)]
        np.testing.assert_allclose(*zip(*compared, strict=True), rtol=1e-12, err_msg=row["claim"])
        if about_nothing and found.get("verdict"):
            sides = (SUPPORTED, CONTRADICTED) if "above" in claim else (CONTRADICTED, SUPPORTED)
            verdict = sides[estimate < 0] if found["verdict"] in DECIDED else found["verdict"]
            assert row["verdict"] == verdict, row["claim"]
    return n_found


def _place(claim: Row) -> tuple[str, Row] | None:
    """The table of estimates in which a claim's number stands, and the keys of its row; None where there is none."""
    statistic, layers, pooled = claim["statistic"], claim.get("layers"), claim["convention"] == "thesis"
    at = {"input": {"layer": 0}, "output": {"depth": 1.0}}
    if statistic == "contrast" and not pooled:
        return "contrasts", {name: claim[name] for name in ("minus", "point")} | at.get(layers, {"layers": layers})
    if statistic == "intervention":
        keys = ("kind", "pattern", "strength", "blocks", "at", "layers")
        return "interventions", {name: claim[name] for name in keys} | {"against": claim["minus"]}
    if change := _CHANGES.get(claim.get("since", statistic)):
        return "depth", {"statistic": change}
    return None


def _estimate_of_rows(claim: Row, row: Row, tables: Tables) -> float | None:
    """The number of a claim by the rows of several layers, or by a column of another name; None where none has it."""
    if claim["statistic"] == "correlation":  # the table has those of one metric with what it knows of the first token
        if claim["metric"] != "max_explainable_variance" or "first_token" not in tables:
            return None
        keys = {"predictor": claim["with_metric"], "view": claim["view"], "variant": claim["variant"]}
        return tables["first_token"].filter(**keys, model=row["model"])["pearson"].item()
    return None
