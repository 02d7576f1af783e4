"""The table `claims`: every claim judged on the data of every model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.evidence import SIZE, Evidence, Found
from homogenization.claims.terms import Claim, UnavailableError
from homogenization.metrics.catalogue import DEPENDS_ON_LENGTH
from homogenization.names.columns import columns
from homogenization.names.numbers import significant
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import (
    CONTRADICTED,
    HIGHER,
    LOWER,
    NEGLIGIBLE,
    NOT_TESTED,
    POOLS,
    REVIEWS,
    SUPPORTED,
    UNDECIDED,
)
from homogenization.statistics.estimates import ONE_DECIDES, verdicts
from homogenization.statistics.resampling import FEWEST_NEGLIGIBLE, Resampling
from homogenization.tables.comparisons import too_few_accepted
from homogenization.tables.components import STREAM_METRICS
from homogenization.tables.metrics import values_of

_WITHOUT = {"unit": REVIEWS, "reason": None, **dict.fromkeys((SIZE, "p_value", "p_max_t"), np.nan)}  # what it may lack
_COPIED = (
    *("claim", "statement", "source", "convention", "statistic", "metric", "view", "variant", "minus", "layers"),
    "since",
)
#: A row for each claim, each of its conventions and layers, and each model, in the order of the file of claims.
CLAIMS_SCHEMA = {
    #: its name; of several layers, all but the first follow it (`-output`), and `-thesis` in that convention
    "claim": pl.String,
    "statement": pl.String,  #: what is claimed
    "source": pl.String,  #: who claims it
    "convention": pl.String,  #: `raw` or `thesis`
    **columns("model"),
    "statistic": pl.String,  #: one of those of [claims](claims.md#add-a-claim)
    "metric": pl.String,  #: null for `consequence`
    **columns("view", "variant"),
    "minus": pl.String,  #: variant that is subtracted; null without one
    #: layers that are averaged: `all`, `first`, `middle`, `last`, `input` or `output`; null for a statistic over depth
    "layers": pl.String,
    "since": pl.String,  #: where a `net_change` begins: `input` or `first block`; otherwise null
    "depends_on_length": pl.Boolean,  #: whether the metric changes with the number of tokens alone
    "verdict": pl.String,  #: `supported`, `contradicted`, `negligible`, `undecided` or `not tested`
    "estimate": pl.Float64,  #: the statistic; NaN if not tested
    #: ends of its interval over reviews: Student's for means, percentile for the others; over pools: the same for
    #: means, where single pools lie for the others
    **dict.fromkeys(("ci_low", "ci_high"), pl.Float64),
    "measured": pl.String,  #: the quantity that the criterion applies to, in words
    "criterion": pl.String,  #: `> 0.5`, `< 0` or `0.6 to 0.7`
    "n_reviews": pl.Int64,  #: reviews (or pools) in the estimate; 0 if not tested
    #: of a comparison of two texts, the share of the reviews in which these differ: the estimate is over them; NaN for
    #: other claims, for pools, and if not tested
    "share_changed": pl.Float64,
    "unit": pl.String,  #: `reviews`, or `pools` of the tokens of a shard
    #: what the difference or change is measured by, as in `contrasts`; NaN if the statistic is none, also in the next
    #: column
    "yardstick": pl.Float64,
    **columns("relative_effect"),
    #: the correlation with the first token left out; NaN for other statistics, also in the next two columns
    "without_first": pl.Float64,
    #: ends of the interval of the correlation minus that one
    **dict.fromkeys(("beyond_low", "beyond_high"), pl.Float64),
    #: two-sided test of no difference, as in the table that the claim selects from; NaN where the interval decides
    "p_value": pl.Float64,
    "p_max_t": pl.Float64,  #: the same corrected within its family ([which](statistics.md#many-tests)): it decides
    "p_decides": pl.Boolean,  #: whether the interval alone would give another verdict
    "reason": pl.String,  #: why the claim is not tested or undecided, or has no interval; otherwise null
}
SCHEMAS = {"claims": CLAIMS_SCHEMA}
_COMPARED = ("ci_low", "ci_high", "n_reviews", SIZE, "reason")  # what an estimate is judged by


def claims_table(claims: Sequence[Claim], models: Sequence[str], evidence: Evidence) -> pl.DataFrame:
    """Every claim, judged on every model: the table `claims` (`CLAIMS_SCHEMA`), in the order of `claims` and `models`.

    A claim about a difference between variants, or a change over depth, selects a row of `contrasts` or `depth` and has
    its estimate, interval and verdict. Other numbers stand in this table alone, and their interval decides. A claim
    about several models has one row, with the model null.

    Args:
        claims: claims as `config.claims.load_claims` gives them.
        models: names of the models, each once.
        evidence: tables and settings that claims are judged by.
    """
    named = {claim.get(key) for claim in claims for key in ("metric", "with_metric")} | {*STREAM_METRICS.values()}
    evidence = replace(evidence, metrics=evidence.metrics.filter(pl.col("metric").is_in(named - {None})))
    rows = [_row(claim, model, evidence) for claim in claims for model in models]
    return pl.DataFrame(rows, schema=CLAIMS_SCHEMA)


def measure(claim: Claim, model: str | None, evidence: Evidence) -> Found:
    """The statistic that `claim` is about, of a model; None for one of no single model.

    Raises:
        UnavailableError: the study does not have the variant, metric, view, point, layers or components, or too few
            reviews are accepted in the claim's variants, or are read in them by the model.
    """
    name = claim["statistic"]
    texts = [claim["variant"], *([claim["minus"]] if name == "contrast" else [])]
    if set(texts) <= set(evidence.variants):
        few = too_few_accepted(evidence.similarity, texts, evidence.n_reviews, evidence.min_reviews)
        if few is not None:
            raise UnavailableError(few)
    found = _WITHOUT | _statistic(name).measure(claim, model, evidence)
    n = found["n_reviews"]
    if found["unit"] == REVIEWS and set(texts) - {ORIGINAL} and n < evidence.min_reviews:
        raise UnavailableError(f"{n} accepted reviews are read; at least {evidence.min_reviews} are needed")
    return found


def _statistic(name: str) -> ModuleType:
    return import_module(f"homogenization.claims.statistics.{name}")


def _row(claim: Claim, model: str | None, evidence: Evidence) -> dict[str, Any]:
    """One row of the table."""
    row = {name: np.nan if dtype == pl.Float64 else None for name, dtype in CLAIMS_SCHEMA.items()}
    row |= {name: claim.get(name) for name in _COPIED} | {"model": model, "n_reviews": 0, "unit": REVIEWS}
    row |= {"measured": _statistic(claim["statistic"]).in_words(claim), "criterion": _criterion(claim)}
    row |= {"verdict": NOT_TESTED, "p_decides": False}
    row["depends_on_length"] = claim.get("metric") in DEPENDS_ON_LENGTH
    try:
        found = measure(claim, model, evidence)
    except UnavailableError as unavailable:
        return row | {"reason": str(unavailable)}
    if not _of_nothing(claim):  # tests are of no difference
        found |= {"p_value": np.nan, "p_max_t": np.nan}
    row |= found
    row["relative_effect"] = row["estimate"] / row[SIZE]
    if row["unit"] == POOLS and row["n_reviews"] == 1:
        row["reason"] = "one pool of texts has no interval"
    return row | _verdict(claim, found, evidence.resampling)


def _of_nothing(claim: Claim) -> bool:
    """Whether a claim is about a difference from nothing; others name a size of their own."""
    return 0 in (claim.get("above"), claim.get("below"))


def _criterion(claim: Claim) -> str:
    """`> 0.6`, `< 0` or `0.6 to 0.7`."""
    if "between" in claim:
        low, high = claim["between"]
        return f"{significant(low)} to {significant(high)}"
    return f"> {significant(claim['above'])}" if "above" in claim else f"< {significant(claim['below'])}"


def _verdict(claim: Claim, found: Found, resampling: Resampling) -> dict[str, Any]:
    """The columns verdict and p_decides."""
    p = found["p_max_t"] if np.isfinite(found["p_max_t"]) else None
    by_interval, judged = (_judged(claim, found, resampling, of) for of in (None, p))
    return {"verdict": judged, "p_decides": judged != by_interval}


def _judged(claim: Claim, found: Found, resampling: Resampling, p: float | None) -> str:
    """The verdict by an interval, or by p: on the claimed side, on the other, within the margin, or none of these.

    Where one review decides, it is none. A correlation also has to be stronger than without the first token.
    """
    low, high = found["ci_low"], found["ci_high"]
    if found["reason"] == ONE_DECIDES:
        return UNDECIDED
    if _of_nothing(claim):
        fewest = FEWEST_NEGLIGIBLE if found["unit"] == REVIEWS else 0
        row = {name: found[name] for name in ("estimate", *_COMPARED)} | ({} if p is None else {"p_max_t": p})
        side = str(verdicts(pl.DataFrame([row], strict=False), resampling, fewest=fewest)[0])
        if side == NEGLIGIBLE:
            return side
        claimed, other = (HIGHER, LOWER) if "above" in claim else (LOWER, HIGHER)
        inside, outside = side == claimed, side == other
    elif "between" in claim:
        least, most = claim["between"]
        inside, outside = least <= low and high <= most, high < least or most < low
    elif "above" in claim:
        inside, outside = low > claim["above"], high <= claim["above"]
    else:
        inside, outside = high < claim["below"], low >= claim["below"]
    if "without_first" in found:
        sign = -1 if "below" in claim or ("between" in claim and sum(claim["between"]) < 0) else 1
        least, most = sorted((sign * found["beyond_low"], sign * found["beyond_high"]))
        inside, outside = inside and least > 0, outside or most <= 0
    return SUPPORTED if inside else CONTRADICTED if outside else UNDECIDED


def tabulate(
    claims: Sequence[Claim],
    models: Sequence[str],
    resampling: Mapping[str, Any],
    metrics: pl.DataFrame,
    **given: Any,
) -> pl.DataFrame:
    """The table `claims`; `metrics` is the table, and `given` are the other fields of `Evidence`."""
    evidence = Evidence(metrics=values_of(metrics), resampling=Resampling(**resampling), **given)
    judged = claims_table(claims, models, evidence)
    print(judged.select("claim", "model", "verdict", "estimate", "ci_low", "ci_high", "p_max_t"))
    return judged
