"""Verdicts in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.vocabulary.numbers import probability, share_in_words, significant
from homogenization.vocabulary.variants import ORIGINAL
from homogenization.vocabulary.verdicts import NOT_TESTED, POOLS, REVIEWS, SEEDS, STUDY

_MEASURED = {  # statistic -> the quantity that the criterion applies to
    "level": "mean",
    "contrast": "mean difference",
    "slope": "slope over depth",
    "steepest": "depth of the fastest change",
    "peak": "depth of the maximum",
    "extremum": "{of} of the most prominent {kind}",
    "correlation": "correlation within layers",
    "component": "lead over the other components",
    "similarity": "mean F1",
    "intervention": "mean change",
    "consequence": "mean",
    "arms": "mean difference over seeds",
}
_UNITS = {POOLS: "pools of texts", SEEDS: "seeds"}
_WITHOUT_LAYERS = ("kl", "cross_entropy")  # outcomes at the output alone
_EQUAL = {"kl": "KL", "strength": "strength", "cosine": "change of the mean cosine"}
AT_LAYERS = {  # layers that are averaged -> where a mean is taken
    "all": "over all layers",
    "first": "in the first layers",
    "middle": "in the middle layers",
    "last": "in the last layers",
    "input": "at the input",
    "output": "at the output",
}


def verdicts_table(claims: pl.DataFrame, models: Sequence[str]) -> pl.DataFrame:
    """The table `verdicts`: the verdicts in words, a row for each claim and a column for each model.

    A verdict on texts, or on several models together, stands in all columns. Where there are no others, they have one.

    Args:
        claims: the table `claims`.
        models: names of the columns after statement, source and criterion.
    """
    columns = ("statement", "source", "criterion")
    models = [STUDY] if claims["model"].is_null().all() else models
    rows = []
    for _, of_claim in claims.group_by("claim", maintain_order=True):
        found = {row["model"]: in_words(row) for row in of_claim.iter_rows(named=True)}
        shared = of_claim.select(columns).row(0)
        rows.append((*shared, *(found.get(model, found.get(None)) for model in models)))
    return pl.DataFrame(rows, schema=dict.fromkeys((*columns, *models), pl.String), orient="row")


def in_words(row: Mapping[str, Any]) -> str:
    """The verdict of one row of the table `claims`.

    It reads `supported: −0.012 [−0.015, −0.009], 3.1 % of depth, n 499, q .0003`; what turns a fragile one follows.
    """
    if row["verdict"] == NOT_TESTED:
        return f"{NOT_TESTED}: {row['reason']}"
    found = significant(row["estimate"])
    if np.isfinite(row["ci_low"]):
        found += f" [{significant(row['ci_low'])}, {significant(row['ci_high'])}]"
    parts = [found]
    if np.isfinite(row["share_of_depth"]):
        parts.append(f"{share_in_words(row['share_of_depth'])} of depth")
    parts.append(f"n {row['n_reviews']}" if row["unit"] == REVIEWS else f"{row['n_reviews']} {_UNITS[row['unit']]}")
    if np.isfinite(row["q_value"]):
        parts.append(f"q {probability(row['q_value'])}")
    parts += [f"fragile: {row['why_fragile']}"] if row["fragile"] else []
    parts += [row["reason"]] if row["reason"] else []
    return f"{row['verdict']}: {', '.join(parts)}"


def criterion_in_words(claim: Mapping[str, Any]) -> str:
    """The criterion of a claim (`Claim.as_params()`): `> 0.6`, `< 0` or `0.6 to 0.7`."""
    if "between" in claim:
        low, high = claim["between"]
        return f"{significant(low)} to {significant(high)}"
    return f"> {significant(claim['above'])}" if "above" in claim else f"< {significant(claim['below'])}"


def measured_in_words(claim: Mapping[str, Any]) -> str:
    """The quantity that the criterion of a claim (`Claim.as_params()`) applies to: `mean difference at the output`."""
    if claim["statistic"] == "extremum":
        of = {"remains": "share without the first token"}.get(claim["of"], claim["of"])
        return _MEASURED["extremum"].format(of=of, kind=claim["kind"])
    if claim.get("of") == "height":
        return "maximum over layers"
    measured = "mean square" if claim.get("squared") else _MEASURED[claim["statistic"]]
    if claim.get("by") == "influence":
        measured = measured.replace("lead", "lead in influence")
    where = [AT_LAYERS[claim["layers"]]] if "layers" in claim else []
    if claim["statistic"] == "consequence":
        return " ".join([_outcome_in_words(claim), *(where if claim["outcome"] not in _WITHOUT_LAYERS else [])])
    by = [f"by {dose_in_words(claim)}"] if claim["statistic"] == "intervention" else []
    by += ["at equal held-out loss"] if claim["statistic"] == "arms" and claim["at"] == "loss" else []
    return " ".join([measured, *by, *where])


def dose_in_words(claim: Mapping[str, Any]) -> str:
    """What a claim on an intervention compares: `first .2 (dial, all blocks) less removed at equal KL`."""
    dose = "" if claim["strength"] is None else f" {significant(claim['strength'])}"
    dose = f"{claim['pattern']}{dose} ({claim['kind']}, blocks: {claim['blocks']})"
    part = "" if claim["part"] == "whole" else f", {claim['part']} part"
    if claim["minus"] == "untouched":
        return f"{dose}{part}"
    return f"{dose}{part} less {claim['minus']} at equal {_EQUAL[claim['at']]}"


def _outcome_in_words(claim: Mapping[str, Any]) -> str:
    """What a claim on a consequence compares: `kl by first .1 (dial, blocks: all) less removed at equal strength`."""
    outcome = claim["outcome"] if claim["variant"] == ORIGINAL else f"{claim['outcome']} of {claim['variant']}"
    if claim["kind"] == "untouched":
        return f"mean {outcome} less {claim['minus']}"
    return f"mean change of {outcome} by {dose_in_words({**claim, 'part': 'whole'})}"
