"""Files of claims: statements with the estimate that each is about, and the criterion that this has to meet.

Every parse of the Snakefile imports this module.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from homogenization.claims.keys import Component, Contrast, Correlation, Depth, Effect, Harm
from homogenization.config.mistakes import describe_problems
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import Name, Section, refused
from homogenization.run.yaml_files import read_yaml

KINDS = ("contrast", "depth", "effect", "harm", "correlation", "component")
CRITERIA = ("above", "below", "between")


class Claim(Section):
    """A published statement and how it is tested."""

    claim: Name
    """Short name of the claim; each stands once."""
    statement: str = Field(min_length=1)
    """What is claimed, in words."""
    source: str = Field(min_length=1)
    """Who claims it."""
    contrast: Contrast | None = None
    depth: Depth | None = None
    effect: Effect | None = None
    harm: Harm | None = None
    correlation: Correlation | None = None
    component: Component | None = None
    above: float | None = None
    """The estimate is larger."""
    below: float | None = None
    """The estimate is smaller."""
    between: list[float] | None = Field(None, min_length=2, max_length=2)
    """The estimate lies in this range, ends included."""

    _between = field_validator("between")(
        refused(lambda bounds: bounds[0] >= bounds[1], "{} is no range; write [lower, upper]")
    )

    @model_validator(mode="after")
    def one_kind_and_one_criterion(self) -> Self:
        """A claim is of one kind and has one criterion."""
        for names in (KINDS, CRITERIA):
            given = [name for name in names if getattr(self, name) is not None]
            if len(given) != 1:
                raise ValueError(f"has {' and '.join(given) or 'none'} of {', '.join(names)}; give exactly one")
        return self

    def rows(self) -> list[dict[str, Any]]:
        """Plain values for each row of the table `claims`: what is claimed, the row that is judged, its criterion."""
        (name,) = (name for name in KINDS if getattr(self, name) is not None)
        kind = getattr(self, name)
        criterion = {name: getattr(self, name) for name in CRITERIA if getattr(self, name) is not None}
        described = {name: getattr(self, name) for name in ("claim", "statement", "source")}
        described |= {"table": kind.table, "criterion": criterion}
        named = {"depth": "{statistic}", "correlation": "correlation with {statistic}"}.get(name, name)
        return [described | {"statistic": named.format(**where), "where": where} for where in kind.filters()]


def load_all_claims(paths: Sequence[str | Path]) -> list[dict[str, Any]]:
    """`Claim.rows()` of the claims of several files, in their order.

    Raises:
        HomogenizationError: a file is missing or holds no YAML list, or entries are wrong; the message names each.
    """
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    problems: list[str] = []
    for path in paths:
        entries = read_yaml(path)
        if not isinstance(entries, list):
            raise HomogenizationError(f"{path}: holds no list of claims; write one entry `- claim: ...` for each")
        for number, entry in enumerate(entries, 1):
            name = entry.get("claim", f"number {number}") if isinstance(entry, dict) else f"number {number}"
            try:
                rows += Claim.model_validate(entry).rows()
            except ValidationError as error:
                problems += [f"{path}, {name}: {problem}" for problem in describe_problems(error, Claim)]
            if name in names:
                problems.append(f"{path}, {name}: stands twice; rename one of both")
            names.add(name)
    if problems:
        listed = "".join(f"\n    - {problem}" for problem in problems)
        raise HomogenizationError(f"mistakes in claims:{listed}\n    docs/claims.md describes every key.")
    return rows
