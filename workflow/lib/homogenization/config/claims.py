"""Claims as data: a statistic of a variant, and the criterion that it has to meet.

A claim names one statistic (one of `STATISTICS`) and, except for `component`, one criterion. Every parse of the
Snakefile imports this module.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from homogenization.config.base import Name, Section, describe_problems, one_of
from homogenization.consequences.names import OUTCOMES
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.variants.names import CONTROL_ROLES

STATISTICS = (
    "level",
    "contrast",
    "slope",
    "steepest",
    "peak",
    "extremum",
    "correlation",
    "component",
    "similarity",
    "intervention",
    "consequence",
    "arms",
)
# How a metric is taken: of each text by itself, or of the centred tokens of many texts, the output after the last norm.
RAW, THESIS = "raw", "thesis"
IN_THE_THESIS = ("level", "contrast", "slope", "steepest", "peak", "component")  # what both have
CONTROLS = {f"{role} control": role for role in CONTROL_ROLES}  # what `minus` may say in place of a variant


def _metric(name: str) -> str:
    one_of(METRIC_NAMES)([name])
    return name


MetricName = Annotated[str, AfterValidator(_metric)]
Layers = Literal["all", "first", "middle", "last", "input", "output"]
Subtracted = Annotated[str, Field(pattern=rf"^([A-Za-z0-9][A-Za-z0-9._-]*|({'|'.join(CONTROL_ROLES)}) control)$")]


class _OfMetric(Section):
    """A metric of every review, at one point of the blocks and in one view."""

    metric: MetricName = Field(description="Name of a metric.")
    view: str | None = Field(
        None, validate_default=True, description="View; null: the first that the metric has (`raw`, `all_tokens`)."
    )
    variant: Name = Field("original", description="Variant whose values count.")

    @field_validator("view")
    @classmethod
    def view_of_metric(cls, view: str | None, info: ValidationInfo) -> str | None:
        """Spectral metrics have every view, the others their own."""
        if "metric" not in info.data:
            return view
        metric = info.data["metric"]
        allowed = describe_metric(metric).views or VIEWS
        if view is not None and view not in allowed:
            raise ValueError(f"{metric} has no view {view!r}{nearest(view, allowed)}; allowed: {', '.join(allowed)}")
        return view or allowed[0]


class _OverLayers(Section):
    """Values of every review, averaged over layers."""

    layers: Annotated[list[Layers], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)] = (
        Field(
            ["all"],
            min_length=1,
            description="`first`, `middle` and `last`: depth in [0, .25), [.25, .75), [.75, 1]; `input` and `output`: "
            "the layer before the first block, and the one after the last; their mean counts. Of several names, each "
            "has its verdict.",
        )
    )

    @field_validator("layers")
    @classmethod
    def each_once(cls, layers: list[str]) -> list[str]:
        """No name of layers stands twice."""
        if len(set(layers)) < len(layers):
            raise ValueError(f"{layers} names layers twice; name each once")
        return layers


class _AtLayers(_OfMetric, _OverLayers):
    """A metric of every review, averaged over layers, at one point of the blocks."""

    point: Literal["residual_stream", "final_norm"] = Field("residual_stream", description="Where states are read.")


class Level(_AtLayers):
    """The value itself, averaged over layers."""

    squared: bool = Field(False, description="The square of each value, such as the variance of a standard deviation.")


class Contrast(_AtLayers):
    """The paired difference between two variants, averaged over layers."""

    minus: Subtracted = Field(
        description="Variant that is subtracted, or the `edge control`, `key control` or `rewriting control` of "
        "`variant`."
    )


class Slope(_OfMetric):
    """Slope of the least-squares line of a review's values over depth."""


class Steepest(_OfMetric):
    """Depth at which the metric changes fastest in the direction of homogenization."""


class Peak(_OfMetric):
    """The layer at which the mean over reviews is largest."""

    of: Literal["depth", "height"] = Field("depth", description="The depth of that layer, or the mean there.")


class Extremum(_OfMetric):
    """The most prominent peak or trough between the ends of the curve over depth, of those that the reviews settle."""

    kind: Literal["peak", "trough"] = Field(description="`peak` or `trough`.")
    of: Literal["prominence", "height", "depth", "remains"] = Field(
        "prominence",
        description="How far it stands out, the mean there, the depth of its layer, or the share of its prominence "
        "that is left without the first token.",
    )


class Correlation(_OfMetric):
    """Pearson correlation with another metric over reviews, within each layer, averaged over layers."""

    with_metric: MetricName = Field(description="The other metric, in its first view.")


class Component(Section):
    """Which components of a block move an anisotropy most, averaged over layers."""

    metric: Literal["cosine_anisotropy", "singular_anisotropy"] = Field(description="Which anisotropy.")
    view: Literal["all_tokens", "without_first", "centred"] = Field("all_tokens", description="View of the tokens.")
    variant: Name = Field("original", description="Variant whose values count.")
    by: Literal["rise", "influence"] = Field(
        "rise", description="`rise`: the change that a component makes; `influence`: its size, whatever its sign."
    )
    largest: list[Literal["residual", "attention", "feed_forward", "norm"]] = Field(
        min_length=1, max_length=3, description="Those that contribute more than all others."
    )


class SimilarityOf(Section):
    """BERTScore F1 of a variant against the original reviews."""

    variant: Name = Field(description="A rewritten variant.")


class Intervention(_OverLayers):
    """The change of a metric by an intervention on attention, averaged over layers, less that by a control."""

    metric: MetricName = Field(description="Name of a metric.")
    view: Literal["all_tokens", "without_first", "centred", "after_quarter"] = Field(
        "all_tokens", description="View of the tokens, as interventions have them."
    )
    variant: Name = Field("original", description="Variant whose values count.")
    kind: Literal["dial", "closed", "capped", "template", "positions"] = Field(
        "dial", description="What is done to attention."
    )
    pattern: str = Field(min_length=1, description="Where attention goes, or which keys are closed.")
    strength: float | None = Field(
        None, ge=-1, le=1, description="Share of the attention that is moved, bound of a cap, or signed strength."
    )
    blocks: str = Field("all", description="Range of blocks, as the table names it.")
    minus: str = Field("untouched", description="`untouched`, or the pattern of a control of the same kind.")
    at: Literal["strength", "kl"] = Field(
        "strength", description="What the condition and its control have in common: the strength, or the KL."
    )
    part: Literal["whole", "odd", "even"] = Field(
        "whole", description="The whole change, or a part of the changes at both signs of the strength."
    )

    @model_validator(mode="after")
    def keys_fit_each_other(self) -> "Intervention":
        """What has a dose names it, parts have two signs, and equal KL has a control."""
        if self.kind in ("dial", "capped", "template") and not self.strength:
            raise ValueError(f"the kind {self.kind!r} has a strength other than 0; give it")
        if self.kind in ("dial", "capped") and self.strength < 0:
            raise ValueError(f"strength {self.strength} of the kind {self.kind!r}; allowed: above 0, at most 1")
        if self.part != "whole" and self.kind != "template":
            raise ValueError(f"the part {self.part!r} needs strengths of both signs, which the kind 'template' has")
        if self.at == "kl" and (self.minus == "untouched" or self.part != "whole" or not self.strength):
            raise ValueError(
                "'at: kl' compares a whole change by a strength with that of a control, which 'minus' names"
            )
        return self


class Consequence(_OverLayers):
    """What a text or an intervention costs, averaged over layers, less that of what it is compared with."""

    outcome: str = Field(
        description="`kl`, `cross_entropy`, `probe_log_loss`, `shift`, or how alike tokens are: `cosine_anisotropy`, "
        "`normalized_effective_rank`."
    )
    view: Literal["all_tokens", "without_first", "centred", "after_quarter"] = Field(
        "all_tokens", description="View of the tokens, for an outcome that is a metric of them."
    )
    variant: Name = Field("original", description="Text whose values count: a variant or a perturbed text.")
    kind: Literal["untouched", "dial", "closed", "capped", "template", "positions"] = Field(
        "untouched", description="What is done to attention."
    )
    pattern: str | None = Field(None, description="As of an `intervention`; null for `untouched`.")
    strength: float | None = Field(None, ge=-1, le=1, description="As of an `intervention`.")
    blocks: str = Field("all", description="As of an `intervention`.")
    minus: str = Field(
        min_length=1,
        description="What is subtracted. Of an intervention: `untouched`, or the pattern of a control of its kind; of "
        "the untouched model: another text, the `edge control`, `key control` or `rewriting control` of `variant`, or "
        "`layers middle` (any name of layers), the same text there.",
    )
    at: Literal["strength", "kl", "cosine"] = Field(
        "strength",
        description="What a condition and its control have in common: the strength, the KL, or the change of the mean "
        "cosine over all layers.",
    )

    @field_validator("outcome")
    @classmethod
    def known_outcome(cls, outcome: str) -> str:
        """The outcome is measured."""
        return one_of(OUTCOMES)([outcome])[0]

    @model_validator(mode="after")
    def keys_fit_each_other(self) -> "Consequence":
        """An intervention has a pattern, what has a dose names it, and equal doses have a control."""
        changed = self.kind != "untouched"
        if changed != (self.pattern is not None):
            raise ValueError(f"kind {self.kind!r} with pattern {self.pattern!r}: every kind but 'untouched' has one")
        if self.kind in ("dial", "capped", "template") and not self.strength:
            raise ValueError(f"the kind {self.kind!r} has a strength other than 0; give it")
        if self.at != "strength" and (not self.strength or self.minus == "untouched"):
            raise ValueError(f"'at: {self.at}' compares a strength with that of a control, which 'minus' names")
        return self


class Arms(_AtLayers):
    """The difference between two arms of trained models, averaged over layers, seed by seed."""

    arm: Name = Field(description="An arm: an entry of `models` that is trained.")
    minus: Name = Field(description="The arm, or the model without seeds, that is subtracted.")
    step: int | None = Field(None, ge=0, description="Snapshot after this step; null: the last.")
    at: Literal["step", "loss"] = Field(
        "step",
        description="`step`: after as many steps; `loss`: where both arms have the same held-out loss, the lowest that "
        "both reach, between snapshots.",
    )

    @model_validator(mode="after")
    def no_step_at_equal_loss(self) -> Self:
        """Where losses are equal, the arms have made different numbers of steps."""
        if self.at == "loss" and self.step is not None:
            raise ValueError("'step' has no meaning with 'at: loss'; leave it out")
        return self


class Claim(Section):
    """A published statement and how it is tested."""

    claim: Name = Field(description="Short name of the claim; each stands once.")
    statement: str = Field(min_length=1, description="What is claimed, in words.")
    source: str = Field(min_length=1, description="Who claims it.")
    published: str | None = Field(None, description="The published number, as text.")
    conventions: list[Literal["raw", "thesis"]] = Field(
        [RAW],
        min_length=1,
        description="How the metric is taken, each with its verdict: `raw` of each text by itself; `thesis`: centred, "
        "the tokens of many texts pooled, the output after the final norm.",
    )
    level: Level | None = None
    contrast: Contrast | None = None
    slope: Slope | None = None
    steepest: Steepest | None = None
    peak: Peak | None = None
    extremum: Extremum | None = None
    correlation: Correlation | None = None
    component: Component | None = None
    similarity: SimilarityOf | None = None
    intervention: Intervention | None = None
    consequence: Consequence | None = None
    arms: Arms | None = None
    above: float | None = Field(None, description="The statistic is larger.")
    below: float | None = Field(None, description="The statistic is smaller.")
    between: list[float] | None = Field(
        None, min_length=2, max_length=2, description="The statistic lies in this range, ends included."
    )

    @field_validator("between")
    @classmethod
    def bounds_in_order(cls, bounds: list[float] | None) -> list[float] | None:
        """The lower bound comes first."""
        if bounds is not None and bounds[0] >= bounds[1]:
            raise ValueError(f"{bounds} is no range; write [lower, upper]")
        return bounds

    @model_validator(mode="after")
    def one_statistic_and_one_criterion(self) -> "Claim":
        """A claim has exactly one statistic and, except for `component`, exactly one criterion."""
        statistics = [name for name in STATISTICS if getattr(self, name) is not None]
        if len(statistics) != 1:
            raise ValueError(f"names {statistics or 'no statistic'}; give exactly one of {', '.join(STATISTICS)}")
        criteria = [name for name in ("above", "below", "between") if getattr(self, name) is not None]
        if len(criteria) != (0 if self.component else 1):
            wanted = "none" if self.component else "exactly one of above, below, between"
            raise ValueError(f"has the criteria {criteria or 'none'}; a {statistics[0]} takes {wanted}")
        if THESIS in self.conventions and statistics[0] not in IN_THE_THESIS:
            raise ValueError(f"a {statistics[0]} has the convention raw alone; {', '.join(IN_THE_THESIS)} have both")
        return self

    def as_params(self) -> list[dict[str, Any]]:
        """Plain values of the claim in each of its conventions and, of these, at each of its layers.

        They are claim, statement, source, published, convention, `statistic` (its name), its fields, criterion. The
        criterion is `above`, `below` (numbers) or `between` (two); a component has `above: 0.0`. The name of the claim
        is followed by its layers where it has several and these are not the first, and in the convention of the thesis
        by `thesis`.
        """
        statistic = next(name for name in STATISTICS if getattr(self, name) is not None)
        criteria = {name: getattr(self, name) for name in ("above", "below", "between")}
        criterion = {name: value for name, value in criteria.items() if value is not None} or {"above": 0.0}
        described = {name: getattr(self, name) for name in ("statement", "source", "published")}
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
    try:
        entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise HomogenizationError(f"{path}: not readable as YAML ({' '.join(str(error).split())})") from error
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
