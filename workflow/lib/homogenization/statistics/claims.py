"""Claims held against the data: a verdict for each claim and model, and the short table that a report opens with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from homogenization.statistics.evidence import WITHOUT_MODEL, Claim, Measurement, Study, UnavailableError, measure
from homogenization.statistics.resampling import benjamini_hochberg, effect_size, reviews_for_power, sign_flip_p

CLAIMS_SCHEMA = {
    "claim": pl.String,
    "statement": pl.String,
    "source": pl.String,
    "model": pl.String,
    "statistic": pl.String,
    "verdict": pl.String,
    "estimate": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "criterion": pl.String,
    "n_reviews": pl.Int64,
    "effect_size": pl.Float64,
    "p_value": pl.Float64,
    "q_value": pl.Float64,
    "n_80": pl.Float64,
    "published": pl.String,
    "reason": pl.String,
}
SUPPORTED, CONTRADICTED, UNDECIDED, NOT_TESTED = "supported", "contradicted", "undecided", "not tested"
_DIGITS = 3
_SMALLEST_SHOWN = 1e-4


def claims_table(claims: Sequence[Claim], models: Sequence[str], study: Study) -> pl.DataFrame:
    """Every claim, judged on every model: the table `claims` (`CLAIMS_SCHEMA`), in the order of `claims` and `models`.

    A mean over reviews with a criterion `above` or `below` is tested: each review's value less the bound, by sign flips
    of the reviews, two-sided; q is the p corrected for all tests of the table (Benjamini & Hochberg). Elsewhere the
    interval decides, and p, q, effect size and n_80 are NaN. A claim that no model has a say in stands once, with the
    model null.

    Args:
        claims: as `config_claims.load_claims` gives them.
        models: names, each once.
        study: the tables that claims are judged by.
    """
    named = {claim[key] for claim in claims for key in ("metric", "with_metric") if key in claim}
    study = replace(study, metrics=study.metrics.filter(pl.col("metric").is_in(named)))
    rows = [
        _row(claim, model, study)
        for claim in claims
        for model in ([None] if claim["statistic"] in WITHOUT_MODEL else models)
    ]
    q_values = benjamini_hochberg(np.array([row["p_value"] for row in rows], dtype=np.float64))
    by_name = {claim["claim"]: claim for claim in claims}
    for row, q in zip(rows, q_values.tolist(), strict=True):
        row["q_value"] = q
        row["verdict"] = _verdict(by_name[row["claim"]], row, 1 - study.confidence)
    return pl.DataFrame(rows, schema=CLAIMS_SCHEMA)


def verdicts_table(claims: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """A row for each claim, a column for each model: what the table `claims` says, to be read by people.

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


def in_words(row: dict[str, Any]) -> str:
    """The verdict of one row of the table `claims`: `supported: −0.012 [−0.015, −0.009], n 499, q .0003`."""
    if row["verdict"] == NOT_TESTED:
        return f"{NOT_TESTED}: {row['reason']}"
    found = _number(row["estimate"])
    if np.isfinite(row["ci_low"]):
        found += f" [{_number(row['ci_low'])}, {_number(row['ci_high'])}]"
    if np.isfinite(row["q_value"]):
        return f"{row['verdict']}: {found}, n {row['n_reviews']}, q {_probability(row['q_value'])}"
    return f"{row['verdict']}: {found}, n {row['n_reviews']}"


def _row(claim: Claim, model: str | None, study: Study) -> dict[str, Any]:
    """One row of the table, but for what depends on the other rows."""
    row = {name: claim.get(name) for name in ("claim", "statement", "source", "statistic", "published")}
    row |= dict.fromkeys(("estimate", "ci_low", "ci_high", "effect_size", "p_value", "n_80"), np.nan)
    row |= {"model": model, "criterion": _criterion(claim), "n_reviews": 0, "reason": None}
    try:
        found = measure(claim, model, study)
    except UnavailableError as unavailable:
        return row | {"reason": str(unavailable)}
    row |= {"estimate": found.estimate, "ci_low": found.low, "ci_high": found.high, "n_reviews": found.n_reviews}
    return row | _test(claim, found, study)


def _test(claim: Claim, found: Measurement, study: Study) -> dict[str, float]:
    """Effect size, p and reviews for a power of 80 %, of what is tested by sign flips; else nothing."""
    if found.values is None or "between" in claim:
        return {}
    excess = (found.values - claim.get("above", claim.get("below")))[:, None]
    effect = effect_size(excess)
    return {
        "effect_size": float(effect[0]),
        "p_value": float(sign_flip_p(excess, study.flips(len(excess)))[0]),
        "n_80": float(reviews_for_power(effect, alpha=1 - study.confidence)[0]),
    }


def _verdict(claim: Claim, row: dict[str, Any], alpha: float) -> str:
    if row["reason"] is not None:
        return NOT_TESTED
    if np.isnan(row["p_value"]):
        inside, outside = _inside_and_outside(claim, row["ci_low"], row["ci_high"])
    elif row["q_value"] < alpha:
        inside = row["estimate"] > claim["above"] if "above" in claim else row["estimate"] < claim["below"]
        outside = not inside
    else:
        inside = outside = False
    return SUPPORTED if inside else CONTRADICTED if outside else UNDECIDED


def _inside_and_outside(claim: Claim, low: float, high: float) -> tuple[bool, bool]:
    """Whether an interval lies wholly inside what is claimed, and whether wholly outside; a NaN one does neither."""
    if "between" in claim:
        least, most = claim["between"]
        return least <= low and high <= most, high < least or most < low
    if "above" in claim:
        return low > claim["above"], high <= claim["above"]
    return high < claim["below"], low >= claim["below"]


def _criterion(claim: Claim) -> str:
    """`> 0.6`, `< 0` or `0.6 to 0.7`."""
    if "between" in claim:
        low, high = claim["between"]
        return f"{_number(low)} to {_number(high)}"
    return f"> {_number(claim['above'])}" if "above" in claim else f"< {_number(claim['below'])}"


def _number(value: float) -> str:
    """Three significant digits, with a true minus sign: `−0.012`, `1.5e−5`."""
    digits, _, exponent = f"{value:.{_DIGITS}g}".partition("e")
    return (f"{digits}e{int(exponent)}" if exponent else digits).replace("-", "−")


def _probability(value: float) -> str:
    """`.0003`, two significant digits; `< .0001` below that, and `1`."""
    if value < _SMALLEST_SHOWN:
        return "< .0001"
    return np.format_float_positional(value, precision=2, fractional=False, trim="-").removeprefix("0")
