"""The tables `claims` and `verdicts`: every claim judged on the data of every model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from homogenization.run.parquet import read_table
from homogenization.statistics.evidence import WITHOUT_MODEL, Claim, Evidence, Measurement, UnavailableError, measure
from homogenization.statistics.resampling import benjamini_hochberg, effect_size, reviews_for_power, sign_flip_p
from homogenization.statistics.verdicts import (
    CONTRADICTED,
    NOT_TESTED,
    SUPPORTED,
    UNDECIDED,
    criterion_in_words,
    verdicts_table,
)

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


def claims_table(claims: Sequence[Claim], models: Sequence[str], evidence: Evidence) -> pl.DataFrame:
    """Every claim, judged on every model: the table `claims` (`CLAIMS_SCHEMA`), in the order of `claims` and `models`.

    A mean over reviews with a criterion `above` or `below` is tested: each review's value less the bound, by sign flips
    of the reviews, two-sided; q is the p corrected for all tests of the table (Benjamini & Hochberg). Elsewhere the
    interval decides, and p, q, effect size and n_80 are NaN. A claim about the texts alone has one row,
    with the model null.

    Args:
        claims: claims as `config.claims.load_claims` gives them.
        models: names of the models, each once.
        evidence: tables and settings that claims are judged by.
    """
    named = {claim[key] for claim in claims for key in ("metric", "with_metric") if key in claim}
    evidence = replace(evidence, metrics=evidence.metrics.filter(pl.col("metric").is_in(named)))
    rows = [
        _row(claim, model, evidence)
        for claim in claims
        for model in ([None] if claim["statistic"] in WITHOUT_MODEL else models)
    ]
    q_values = benjamini_hochberg(np.array([row["p_value"] for row in rows], dtype=np.float64))
    by_name = {claim["claim"]: claim for claim in claims}
    for row, q in zip(rows, q_values.tolist(), strict=True):
        row["q_value"] = q
        row["verdict"] = _verdict(by_name[row["claim"]], row, 1 - evidence.confidence)
    return pl.DataFrame(rows, schema=CLAIMS_SCHEMA)


def _row(claim: Claim, model: str | None, evidence: Evidence) -> dict[str, Any]:
    """One row of the table, without verdict and q, which depend on the other rows."""
    row = {name: claim.get(name) for name in ("claim", "statement", "source", "statistic", "published")}
    row |= dict.fromkeys(("estimate", "ci_low", "ci_high", "effect_size", "p_value", "n_80"), np.nan)
    row |= {"model": model, "criterion": criterion_in_words(claim), "n_reviews": 0, "reason": None}
    try:
        found = measure(claim, model, evidence)
    except UnavailableError as unavailable:
        return row | {"reason": str(unavailable)}
    row |= {"estimate": found.estimate, "ci_low": found.low, "ci_high": found.high, "n_reviews": found.n_reviews}
    return row | _test(claim, found, evidence)


def _test(claim: Claim, found: Measurement, evidence: Evidence) -> dict[str, float]:
    """Effect size, p of the sign flips and reviews for a power of 80 %; empty where the interval decides."""
    if found.values is None or "between" in claim:
        return {}
    excess = (found.values - claim.get("above", claim.get("below")))[:, None]
    effect = effect_size(excess)
    return {
        "effect_size": float(effect[0]),
        "p_value": float(sign_flip_p(excess, evidence.flips(len(excess)))[0]),
        "n_80": float(reviews_for_power(effect, alpha=1 - evidence.confidence)[0]),
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
    """Whether an interval lies wholly inside the claimed range, and whether wholly outside; neither holds for NaN."""
    if "between" in claim:
        least, most = claim["between"]
        return least <= low and high <= most, high < least or most < low
    if "above" in claim:
        return low > claim["above"], high <= claim["above"]
    return high < claim["below"], low >= claim["below"]


def tabulate(
    inputs: Any,
    claims: Sequence[Claim],
    models: Sequence[str],
    variants: Sequence[str],
    n_reviews: int,
    min_reviews: int,
    draws: int,
    confidence: float,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `claims` and `verdicts`; `inputs` names the files of the tables `metrics`, `similarity`, `components`.

    `components` may be empty, where the study takes no blocks apart.
    """
    components = read_table(inputs.components) if inputs.components else None
    evidence = Evidence(
        read_table(inputs.metrics),
        read_table(inputs.similarity),
        components,
        draws,
        confidence,
        seed,
        variants,
        n_reviews,
        min_reviews,
    )
    judged = claims_table(claims, models, evidence)
    print(judged.select("claim", "model", "verdict", "estimate", "ci_low", "ci_high", "q_value"))
    return judged, verdicts_table(judged, models)
