"""Claims as data: a statistic of a variant, and the criterion that it has to meet.

A claim names one statistic (one of `STATISTICS`) and, except for `component`, one criterion. Every parse of the
Snakefile imports this module.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, create_model, field_validator, model_validator

from homogenization.claims.keys import STATISTICS
from homogenization.claims.terms import RAW, THESIS
from homogenization.config.mistakes import describe_problems
from homogenization.names.variants import CONTROL_ROLES
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import Name, Section, refused
from homogenization.run.yaml_files import read_yaml

CONTROLS = {f"{role} control": role for role in CONTROL_ROLES}  # what `minus` may say in place of a variant


class _Claim(Section):
    """A published statement and how it is tested."""

    claim: Name
    """Short name of the claim; each stands once."""
    statement: str = Field(min_length=1)
    """What is claimed, in words."""
    source: str = Field(min_length=1)
    """Who claims it."""
    conventions: list[Literal["raw", "thesis"]] = Field([RAW], min_length=1)
    """How the metric is taken, each with its verdict: `raw` of each text by itself; `thesis`: centred, the tokens of \
many texts pooled, the output after the final norm."""
    above: float | None = None
    """The statistic is larger."""
    below: float | None = None
    """The statistic is smaller."""
    between: list[float] | None = Field(None, min_length=2, max_length=2)
    """The statistic lies in this range, ends included."""

    _between = field_validator("between")(
        refused(lambda bounds: bounds[0] >= bounds[1], "{} is no range; write [lower, upper]")
    )

    @model_validator(mode="after")
    def one_statistic_and_one_criterion(self) -> Self:
        """A claim has exactly one statistic and, except for `component`, exactly one criterion."""
        statistics = [name for name in STATISTICS if getattr(self, name) is not None]
        if len(statistics) != 1:
            raise ValueError(f"names {statistics or 'no statistic'}; give exactly one of {', '.join(STATISTICS)}")
        (statistic,) = statistics
        has_criterion = STATISTICS[statistic].has_criterion
        criteria = [name for name in ("above", "below", "between") if getattr(self, name) is not None]
        if len(criteria) != has_criterion:
            wanted = "exactly one of above, below, between" if has_criterion else "none"
            raise ValueError(f"has the criteria {criteria or 'none'}; a {statistic} takes {wanted}")
        both = [name for name, keys in STATISTICS.items() if keys.in_thesis]
        if THESIS in self.conventions and statistic not in both:
            raise ValueError(f"a {statistic} has the convention raw alone; {', '.join(both)} have both")
        return self

    def as_params(self) -> list[dict[str, Any]]:
        """Plain values of the claim in each of its conventions and, of these, at each of its layers.

        They are claim, statement, source, convention, `statistic` (its name), its fields, criterion. The
        criterion is `above`, `below` (numbers) or `between` (two); a component has `above: 0.0`. The name of the claim
        is followed by its layers where it has several and these are not the first, and in the convention of the thesis
        by `thesis`.
        """
        statistic = next(name for name in STATISTICS if getattr(self, name) is not None)
        criteria = {name: getattr(self, name) for name in ("above", "below", "between")}
        criterion = {name: value for name, value in criteria.items() if value is not None} or {"above": 0.0}
        described = {name: getattr(self, name) for name in ("statement", "source")}
        fields = getattr(self, statistic).model_dump(mode="json")
        places = [{"layers": layers} for layers in fields.pop("layers", ())] or [{}]
        params = []
        for convention in self.conventions:
            for place in places:
                suffixes = [
                    *(place.values() if place != places[0] else ()),
                    *([THESIS] if convention == THESIS else ()),
                ]
                name = {"claim": "-".join([self.claim, *suffixes])}
                kind = {"convention": convention, "statistic": statistic}
                params.append({**name, **described, **kind, **fields, **place, **criterion})
        return params


Claim = create_model("Claim", __base__=_Claim, **{name: (keys | None, None) for name, keys in STATISTICS.items()})


def load_all_claims(paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """The claims of several files, in their order, as `load_claims` gives those of one.

    Raises:
        HomogenizationError: `load_claims` refuses a file, or a name stands in two of them.
    """
    by_name: dict[str, dict[str, Any]] = {}
    for path in paths:
        for claim in load_claims(path):
            if claim["claim"] in by_name:
                raise HomogenizationError(f"{path}: {claim['claim']}: stands in another file too; rename one of both.")
            by_name[claim["claim"]] = claim
    return list(by_name.values())


def load_claims(path: str | Path) -> list[dict[str, Any]]:
    """Read and check a file of claims, a YAML list.

    Returns:
        `Claim.as_params()` of each, in the order of the file.

    Raises:
        HomogenizationError: the file is missing or holds no YAML list, or entries are wrong; the message names each.
    """
    entries = read_yaml(path)
    if not isinstance(entries, list):
        raise HomogenizationError(f"{path}: holds no list of claims; write one entry `- claim: ...` for each")
    problems: list[str] = []
    claims: list[Claim] = []
    for number, entry in enumerate(entries):
        try:
            claims.append(Claim.model_validate(entry))
        except ValidationError as error:
            name = entry.get("claim", f"number {number + 1}") if isinstance(entry, dict) else f"number {number + 1}"
            problems += [f"{name}: {problem}" for problem in describe_problems(error, Claim)]
    params = [params for claim in claims for params in claim.as_params()]
    names = [claim["claim"] for claim in params]
    problems += [f"{name}: stands twice" for name in sorted({name for name in names if names.count(name) > 1})]
    if problems:
        listed = "\n".join(f"    - {problem}" for problem in problems)
        raise HomogenizationError(f"{path}:\n{listed}\n    docs/claims.md describes every key.")
    return params
