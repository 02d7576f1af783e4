"""What an estimate says of how alike tokens grow: what sentences and the report's first page are made of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from math import isfinite, nan
from typing import Any

from homogenization.claims.terms import AT_LAYERS, SINCE, views_of
from homogenization.metrics.catalogue import likeness
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, view_without_first
from homogenization.names.numbers import share_of_range, signed, significant
from homogenization.names.variants import CONTROL_ROLES, ORIGINAL
from homogenization.names.verdicts import (
    CONTRADICTED,
    HIGHER,
    LESS_ALIKE,
    LOWER,
    MORE_ALIKE,
    NEGLIGIBLE,
    NOT_TESTED,
    REVIEWS,
    SUPPORTED,
    UNDECIDED,
)

#: Verdict of a claim whose look a finding has, by what the finding says.
LOOKS = {
    **dict.fromkeys((MORE_ALIKE, HIGHER, "yes"), SUPPORTED),
    **dict.fromkeys((LESS_ALIKE, LOWER, "no"), CONTRADICTED),
    **{name: name for name in (NEGLIGIBLE, UNDECIDED, NOT_TESTED)},
}
ATTENTION = "first_token_attention_excess"
OVER_DEPTH = ("net_change", "slope")
OF_LIKENESS = (*OVER_DEPTH, "contrast", "intervention")
STATED = ("consequence", "arms")  # statistics of which a verdict is on the claim's statement
_ROLES = (ORIGINAL, *CONTROL_ROLES)


@dataclass(frozen=True)
class Finding:
    """An estimate and its verdict: a row of the table `claims`, or of one that has the same columns.

    Attributes:
        verdict: whether the claim holds; of a row that no claim is about, `supported` where it is decided.
        role: what `minus` is to `variant`: `original`, or the role of the control; None for another variant.
        marks: caveats in a word each.
    """

    verdict: str
    statistic: str = ""
    statement: str = ""
    claim: str | None = None
    model: str | None = None
    metric: str | None = None
    view: str | None = None
    variant: str | None = None
    minus: str | None = None
    role: str | None = None
    layers: str | None = None
    since: str | None = None
    measured: str = ""
    estimate: float = nan
    relative_effect: float = nan
    depth_range: float = nan
    n_reviews: int = 0
    unit: str = REVIEWS
    reason: str = ""
    marks: tuple[str, ...] = ()

    @property
    def of_likeness(self) -> bool:
        """Whether the estimate is about how alike tokens are to each other."""
        return self.statistic in OF_LIKENESS and bool(self._direction)

    @property
    def said(self) -> str:
        """The verdict on the question: whether tokens are `more alike` or `less alike`, say, or `undecided`."""
        if self.verdict not in (SUPPORTED, CONTRADICTED):
            return self.verdict
        if self.statistic in STATED:
            return "yes" if self.verdict == SUPPORTED else "no"
        return self.towards

    @property
    def towards(self) -> str:
        """The side of the estimate, whatever its verdict: `more alike` or `less alike`, else `higher` or `lower`."""
        if not self._direction:
            return HIGHER if self.estimate > 0 else LOWER
        return MORE_ALIKE if self.estimate * self._direction > 0 else LESS_ALIKE

    @property
    def look(self) -> str:
        """The verdict whose colour and sign it has."""
        return LOOKS[self.said]

    @property
    def other_view(self) -> str:
        """The view, where it is not the metric's first: `without_first`, or its name."""
        first = views_of(self.metric)[0]
        if self.view in (None, first, ALL_TOKENS):
            return ""
        return WITHOUT_FIRST if self.view == view_without_first(first) else self.view

    @property
    def where(self) -> str:
        """Where a net change begins, or over which layers the mean is; what is measured, where it is neither."""
        if self.since:
            return SINCE[self.since][1]
        return AT_LAYERS.get(self.layers, self.measured)

    @property
    def change(self) -> str:
        """What is measured, without where: `mean change by first 0.2 (steering, blocks: all)`."""
        return self.measured.removesuffix(f" {self.where}")

    @property
    def share(self) -> float:
        """Its share of what depth does, without a sign where `side` says it; NaN where it has none."""
        return abs(self.relative_effect) if self.side else self.relative_effect

    @property
    def rank(self) -> int:
        """The place of `role`: the original, then the controls, then other variants."""
        return _ROLES.index(self.role) if self.role in _ROLES else len(_ROLES)

    @property
    def oriented(self) -> float:
        """The share of what depth does, above 0 where tokens are more alike, or where another number is higher."""
        return (self._direction or 1) * self.relative_effect

    @property
    def is_share(self) -> bool:
        """Whether its number is a share of what depth does, and not the estimate."""
        return self.said != NOT_TESTED and self.statistic not in OVER_DEPTH and isfinite(self.relative_effect)

    @property
    def side(self) -> str:
        """The side that a difference is on, whatever its verdict: `more alike`, say; "" of any other number."""
        return self.towards if self.statistic in (*OF_LIKENESS, *STATED) and isfinite(self.relative_effect) else ""

    @property
    def size(self) -> float:
        """The one number: a share of what depth does, above 0 where tokens are more alike, or the estimate."""
        if self.said == NOT_TESTED:
            return nan
        return self.oriented if self.is_share else self.estimate

    @property
    def of_depth(self) -> str:
        """The share of what depth does, with its side: `0.4 % of 0.52 more alike`; "" without one."""
        if not isfinite(self.relative_effect):
            return ""
        return f"{share_of_range(self.share, self.depth_range)} {self.side}".strip()

    @property
    def sized(self) -> str:
        """`of_depth`; of any other number, it with the sign of the metric."""
        if not isfinite(self.size):
            return ""
        return self.of_depth if self.is_share else signed(significant(self.size, 2))

    @property
    def number(self) -> str:
        """The same behind the verdict, which may say the side: `by 0.4 % of 0.52`."""
        if self.is_share and self.said == self.side:
            return f"by {share_of_range(self.share, self.depth_range)}"
        return self.sized

    @property
    def counted(self) -> str:
        """`n 32`, or `3 seeds`; empty where nothing is counted."""
        if self.said == NOT_TESTED:
            return ""
        n = self.n_reviews
        return f"n {n}" if self.unit == REVIEWS else f"{n} {self.unit if n != 1 else self.unit[:-1]}"

    @property
    def _direction(self) -> int:
        """1 or -1, the sign of an estimate if tokens grow alike; 0 where the metric is about something else."""
        return likeness(self.metric) if self.metric else 0


_NAMES = {field.name for field in fields(Finding)}


def findings(rows: Iterable[Mapping[str, Any]], controls: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """The findings of rows, in their order; `controls` has the name of each control by variant and role."""
    roles = {(variant, control): role for variant, named in controls.items() for role, control in named.items()}
    found = []
    for row in rows:
        role = ORIGINAL if row.get("minus") == ORIGINAL else roles.get((row.get("variant"), row.get("minus")))
        known = {name: row[name] for name in _NAMES & row.keys() if row[name] is not None}
        found.append(Finding(**known, role=role))
    return found
