"""The row of a table of estimates in which a claim's number stands: each number has one estimate and one verdict."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.names.verdicts import CONTRADICTED, SUPPORTED

Row = Mapping[str, Any]
# statistics whose numbers stand in claims.csv alone
OF_CLAIMS_ALONE = {"peak", "correlation", "component", "similarity", "arms", "consequence"}
_CHANGES = {"slope": "slope", "steepest": "steepest", "input": "net_change", "first block": "net_change_after_first"}
_SAME = ("ci_low", "ci_high", "p_value", "p_max_t", "robust", "robust_low", "kept", "kept_high", "relative_effect")


def rows_of_claims(study: Any, folder: Path) -> int:
    """Compare the claims of a finished study with the tables in `folder`; the number of rows found."""
    claims = pl.read_csv(folder / "claims.csv", schema_overrides=CLAIMS_SCHEMA)
    tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in ("contrasts", "depth", "summary")}
    return assert_one_estimate_and_one_verdict(study.judged_claims, claims, tables)


def assert_one_estimate_and_one_verdict(
    judged: Sequence[Row], claims: pl.DataFrame, tables: Mapping[str, pl.DataFrame]
) -> int:
    """Compare each tested claim with its row; the number of claims that have one.

    Args:
        judged: the claims as they are configured.
        claims: the table `claims`.
        tables: tables of estimates by name.
    """
    n_found = 0
    configured = {claim["claim"]: claim for claim in judged}
    for row in claims.filter(pl.col("verdict") != "not tested").iter_rows(named=True):
        claim = configured[row["claim"]]
        rows = list(_rows_of(claim, row["model"], tables))
        assert len(rows) == _has_row(claim), row["claim"]
        for found in rows:
            n_found += 1
            estimate = found["mean"] if "mean" in found else found["estimate"]
            about_nothing = 0 in (claim.get("above"), claim.get("below"))
            same = [name for name in _SAME if about_nothing and name in found]
            compared = [(row["estimate"], estimate), *((row[name], found[name]) for name in same)]
            np.testing.assert_allclose(*zip(*compared, strict=True), rtol=1e-12, err_msg=row["claim"])
            if about_nothing and found.get("verdict"):
                assert row["verdict"] == _verdict(claim, found["verdict"]), row["claim"]
                assert row["fragile"] == found["fragile"], row["claim"]
    return n_found


def _has_row(claim: Row) -> bool:
    pooled, statistic = claim["convention"] == "thesis", claim["statistic"]
    if statistic == "level":
        return not pooled and not claim["squared"] and claim["layers"] in ("input", "output")
    return statistic not in OF_CLAIMS_ALONE and (statistic != "contrast" or not pooled) and statistic != "extremum"


def _rows_of(claim: Row, model: str | None, tables: Mapping[str, pl.DataFrame]) -> Iterator[Row]:
    statistic, layers = claim["statistic"], claim.get("layers")
    at = {"input": {"layer": 0}, "output": {"depth": 1.0}}
    cell = {name: claim[name] for name in ("variant", "view", "metric") if name in claim}
    if claim["convention"] == "thesis":
        cell["view"] = "pooled_centred"
    if not _has_row(claim):
        return
    if statistic == "contrast":
        keys = {"minus": claim["minus"], "point": claim["point"]} | at.get(layers, {"layers": layers})
        chosen = tables["contrasts"].filter(**cell, **keys, model=model)
    elif statistic == "level":
        chosen = tables["summary"].filter(**cell, **at[layers], point=claim["point"], model=model)
    elif statistic == "intervention":
        keys = {name: claim[name] for name in ("kind", "pattern", "strength", "blocks", "at", "part", "layers")}
        chosen = tables["interventions"].filter(**cell, **keys, against=claim["minus"], model=model)
    else:
        chosen = tables["depth"].filter(**cell, model=model, statistic=_CHANGES[claim.get("since", statistic)])
    yield from chosen.iter_rows(named=True)


def _verdict(claim: Row, found: str) -> str:
    sides = {"higher": SUPPORTED, "lower": CONTRADICTED}
    return dict(zip(sides, sides.values() if "above" in claim else reversed(sides.values()), strict=True)).get(
        found, found
    )
