"""What a claim about an intervention on attention is judged by."""

from dataclasses import replace

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence
from homogenization.claims.measurement import Claim, Measurement, Size, UnavailableError
from homogenization.inference.doses import (
    KL,
    Condition,
    Runs,
    change,
    conditions_of,
    control_of,
    no_control,
    runs_of,
    too_few,
)
from homogenization.inference.equal_kl import curve_of, less_by_review, moved_at_equal_kl
from homogenization.inference.resampling import means
from homogenization.tables.intervened import UNTOUCHED
from homogenization.vocabulary.numbers import NO_HEAD

_KL = "KL"
_NEAR = 1e-9  # strengths that are written alike are equal


def measure_intervention(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The change that the claim is about, over the reviews whose sink stayed where it was.

    At equal KL, the values of reviews are pseudo-values of the jackknife (`equal_kl.AtEqualKl`).

    Args:
        claim: values of a claim about an intervention.
        model: name of a model.
        evidence: what claims are judged by.

    Raises:
        UnavailableError: the study has no such intervention, condition or control, the control is none in this model,
            too few reviews have a value, or the control's KL does not reach that of the condition.
    """
    return of_condition(claim, _rows_of(claim, model, evidence), evidence)


def of_condition(claim: Claim, rows: pl.DataFrame, evidence: Evidence, dose: str = "KL") -> Measurement:
    """The change that a claim is about, over the reviews whose sink stayed where it was.

    Args:
        claim: `kind`, `pattern`, `blocks`, `strength`, `minus`, `part` and `at`.
        rows: those of one model, text and cell (`INTERVENED_BY_REVIEW_SCHEMA`).
        evidence: what claims are judged by.
        dose: what stands in the column `kl`, and is equal where `at` is `kl`; another than the KL is signed, and the
            control's change is linear in it between its strengths.

    Raises:
        UnavailableError: as `measure_intervention`.
    """
    runs, size = runs_of(rows), size_of(rows)
    condition = _find(runs, Condition(claim["kind"], claim["pattern"], claim["blocks"], claim["strength"]))
    control = claim["minus"] if claim["minus"] != UNTOUCHED else None
    part, at_kl = claim["part"], claim["at"] == KL
    if control and (reason := no_control(control, runs.branch_norm)):
        raise UnavailableError(reason)
    conditions = [_find(runs, one) for one in conditions_of(condition, part)]
    if control and not at_kl:
        conditions += [_find(runs, one) for one in conditions_of(control_of(condition, control), part)]
    moved = np.logical_or.reduce([runs.moved[one] for one in conditions])
    values = change(runs, condition, part)
    if control and not at_kl:
        values = values - change(runs, control_of(condition, control), part)
    counted = ~np.isnan(values[:, 0])
    if not counted.any():
        raise UnavailableError(f"no review has a value; another token took over the sink in {moved.sum()} reviews")
    if control and at_kl:
        values = _at_equal_kl(runs, condition, control, values, dose)
        moved, counted = moved_at_equal_kl(runs, condition, control, values), ~np.isnan(values[:, 0])
    if reason := too_few(int(counted.sum()), evidence.settings.min_reviews):
        raise UnavailableError(reason + (f"; another token took over the sink in {moved.sum()}" if moved.any() else ""))
    measured = evidence.mean_of(values[counted, 0], size)
    note = f"{moved.sum()} of {len(moved)} reviews left out: another token took over the sink"
    return replace(measured, note=note if moved.any() else None)


def size_of(rows: pl.DataFrame) -> Size:
    """What depth does to the metric of rows of one cell in the untouched run, and how far its reviews lie apart."""
    return Size(*(np.nan if number is None else number for number in rows.select("depth_range", "review_sd").row(0)))


def _at_equal_kl(runs: Runs, condition: Condition, control: str, values: np.ndarray, dose: str) -> np.ndarray:
    _find(runs, control_of(condition, control), any_strength=True)
    curve = curve_of(runs, condition, control)
    own = means(runs.kl[condition][:, None])[0]
    if dose != _KL and own <= 0:
        raise UnavailableError(f"the {dose} by '{condition.pattern}' is {own:.3g}: tokens do not grow more alike")
    scale = None if dose == _KL else np.positive
    pseudo = less_by_review(values, runs.kl[condition], curve, scale)
    if np.isnan(pseudo).all():
        reached, unit = means(curve.kl.T).max(), " nats" if dose == _KL else ""
        raise UnavailableError(
            f"{NO_HEAD}, so that a dose has no KL"
            if np.isnan(own)
            else f"the {dose} of '{control}' reaches {reached:.3g}{unit}, that of '{condition.pattern}' is {own:.3g}"
        )
    return pseudo


def _rows_of(claim: Claim, model: str, evidence: Evidence) -> pl.DataFrame:
    """Rows of the table `intervened` of the claim's variant and cell."""
    if evidence.tables.intervened is None:
        raise UnavailableError("the study changes no attention")
    rows = evidence.tables.intervened.filter(model=model)
    for column, lacking in (
        ("variant", "the study does not change this model's attention on the variant '{}'"),
        ("metric", "the study has no {} of runs whose attention was changed"),
        ("view", f"the study has no view '{{}}' of {claim['metric']} of these runs"),
        ("layers", "the study has no mean of these runs over the layers '{}'"),
    ):
        rows = rows.filter(pl.col(column) == claim[column])
        if rows.is_empty():
            raise UnavailableError(lacking.format(claim[column]))
    return rows


def _find(runs: Runs, wanted: Condition, any_strength: bool = False) -> Condition:
    """The condition of `runs` that is `wanted`."""
    known = list(runs.values)
    for place, what in enumerate(Condition._fields[: 3 if any_strength else 4]):
        value = wanted[place]
        left = [one for one in known if _alike(one[place], value)]
        if not left:
            there = ", ".join(sorted({str(one[place]) for one in known if one.kind != UNTOUCHED})) or "none"
            raise UnavailableError(f"the study has no {what} {value} of this intervention; it has {there}")
        known = left
    return known[0]


def _alike(own: str | float | None, wanted: str | float | None) -> bool:
    """Whether a condition is what a claim names; a kind without blocks or without patterns has all of them."""
    if isinstance(own, float) and isinstance(wanted, int | float):
        return abs(own - wanted) < _NEAR
    return own == wanted or own is None
