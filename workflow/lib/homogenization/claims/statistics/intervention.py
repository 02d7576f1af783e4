"""What changed attention does: a row of the table `interventions`."""

from collections.abc import Sequence

import polars as pl

from homogenization.claims.evidence import Evidence, Found, narrowed, selected
from homogenization.claims.terms import AT_LAYERS, Claim, UnavailableError
from homogenization.names.numbers import significant
from homogenization.names.verdicts import NOT_TESTED
from homogenization.statistics.doses import STRENGTH, Condition
from homogenization.tables.intervened import CONDITION, UNTOUCHED

_EQUAL = {"kl": "KL", "strength": "strength"}
_NEAR = 1e-9  # strengths that are written alike are equal


def in_words(claim: Claim) -> str:
    """The mean change, by what, and where."""
    return f"mean change by {dose_in_words(claim)} {AT_LAYERS[claim['layers']]}"


def dose_in_words(claim: Claim) -> str:
    """What a claim on an intervention compares: `first .2 (steering, all blocks) minus removed at equal KL`."""
    dose = "" if claim["strength"] is None else f" {significant(claim['strength'])}"
    minus = "" if claim["minus"] == UNTOUCHED else f" minus {claim['minus']} at equal {_EQUAL[claim['at']]}"
    return f"{claim['pattern']}{dose} ({claim['kind']}, blocks: {claim['blocks']}){minus}"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The change that the claim is about, over the reviews whose sink stayed where it was.

    Raises:
        UnavailableError: the study has no such intervention, condition or control, the control is none in this model,
            too few reviews have a value, or the control's KL does not reach that of the condition.
    """
    if evidence.interventions is None:
        raise UnavailableError("the study changes no attention")
    metric, view, variant, layers = (claim[name] for name in ("metric", "view", "variant", "layers"))
    rows = narrowed(
        evidence.interventions.filter(model=model),
        ("variant", variant, f"the study does not change this model's attention on the variant '{variant}'"),
        ("metric", metric, f"the study has no {metric} of runs whose attention was changed"),
        ("view", view, f"the study has no view '{view}' of {metric} of these runs"),
        ("layers", layers, f"the study has no mean of these runs over the layers '{layers}'"),
    )
    return of_effects(claim, find_condition(claim, rows), rows)


def find_condition(claim: Claim, rows: pl.DataFrame) -> Condition:
    """The condition of a claim, among those of `rows` with its control.

    Raises:
        UnavailableError: there is none; the message says what there is.
    """
    known = [Condition(*row) for row in rows.select(CONDITION).unique().rows()]
    condition = _find(known, Condition(claim["kind"], claim["pattern"], claim["blocks"], claim["strength"]))
    if claim["minus"] != UNTOUCHED:
        _find(known, condition._replace(pattern=claim["minus"]), any_strength=claim["at"] != STRENGTH)
    return condition


def of_effects(claim: Claim, condition: Condition, effects: pl.DataFrame) -> Found:
    """What the row of a claim says, among the estimands of one model, text and cell (`EFFECTS_SCHEMA`).

    Raises:
        UnavailableError: there is no such row, or it is not tested.
    """
    same = [pl.col(name).eq_missing(value) for name, value in condition._asdict().items()]
    chosen = effects.filter(*same, against=claim["minus"], at=claim["at"])
    if chosen.is_empty():
        raise UnavailableError(f"the study does not compare '{claim['pattern']}' with '{claim['minus']}' in this way")
    row = chosen.row(0, named=True)
    n, n_moved = row["n_reviews"], row["n_sink_moved"]
    if not n and n_moved:
        raise UnavailableError(f"no review has a value; another token took over the sink in {n_moved} reviews")
    if row["verdict"] == NOT_TESTED:
        raise UnavailableError(row["reason"] + (f"; another token took over the sink in {n_moved}" if n_moved else ""))
    note = f"{n_moved} of {n + n_moved} reviews left out: another token took over the sink"
    return selected(claim, row, "estimate") | ({"reason": note} if n_moved and not row["reason"] else {})


def _find(known: Sequence[Condition], wanted: Condition, any_strength: bool = False) -> Condition:
    """The condition among `known` that is `wanted`."""
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
