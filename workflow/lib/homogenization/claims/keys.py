"""The statistics that a claim can name, and their keys.

`claims.statistics` has a module of the same name for each, which measures it. Every parse of the Snakefile imports this
module, but none of those.
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from homogenization.claims.terms import AT_LAYERS, SINCE, views_of
from homogenization.interventions.conditions import KINDS, STEERING, UNTOUCHED, VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.metrics.registry import ALL_TOKENS
from homogenization.names.consequences import OUTCOMES
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import CONTROL_ROLES
from homogenization.run.errors import nearest
from homogenization.run.sections import Name, Section

MetricName = Literal[tuple(METRIC_NAMES)]
Layers = Literal[tuple(AT_LAYERS)]
Subtracted = Annotated[str, Field(pattern=rf"^([A-Za-z0-9][A-Za-z0-9._-]*|({'|'.join(CONTROL_ROLES)}) control)$")]


class Keys(Section):
    """The keys of a statistic of claims."""

    in_thesis: ClassVar[bool] = False
    """Whether it exists in the convention of the thesis too."""
    has_criterion: ClassVar[bool] = True
    """Whether a claim states a bound; otherwise the statistic has to be above 0."""


class OfMetric(Keys):
    """A metric of every review, at one point of the blocks and in one view."""

    metric: MetricName
    """Name of a metric."""
    view: str | None = Field(None, validate_default=True)
    """View; null: the first that the metric has (`raw`, `all_tokens`)."""
    variant: Name = "original"
    """Variant whose values count."""

    @field_validator("view")
    @classmethod
    def view_of_metric(cls, view: str | None, info: ValidationInfo) -> str | None:
        """Spectral metrics have every view, the others their own."""
        if "metric" not in info.data:
            return view
        metric = info.data["metric"]
        allowed = views_of(metric)
        if view is not None and view not in allowed:
            raise ValueError(f"{metric} has no view {view!r}{nearest(view, allowed)}; allowed: {', '.join(allowed)}")
        return view or allowed[0]


class OverLayers(Keys):
    """Values of every review, averaged over layers."""

    layers: Annotated[list[Layers], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)] = (
        Field(["all"], min_length=1)
    )
    """`first`, `middle` and `last`: depth in [0, .25), [.25, .75), [.75, 1]; `input` and `output`: the layer before the
    first block, and the one after the last; their mean counts. Of several names, each has its verdict."""

    @field_validator("layers")
    @classmethod
    def each_once(cls, layers: list[str]) -> list[str]:
        """No name of layers stands twice."""
        if len(set(layers)) < len(layers):
            raise ValueError(f"{layers} names layers twice; name each once")
        return layers


class AtLayers(OfMetric, OverLayers):
    """A metric of every review, averaged over layers, at one point of the blocks."""

    point: Literal[RESIDUAL_STREAM, FINAL_NORM] = RESIDUAL_STREAM
    """Where states are read."""


class OfCondition(OverLayers):
    """What is measured of runs with changed attention, averaged over layers."""

    view: Literal[VIEWS] = ALL_TOKENS
    """View of the tokens, as interventions have them."""
    variant: Name = "original"
    """Variant whose values count."""
    strength: float | None = Field(None, gt=0, le=1)
    """Share of the attention that is moved."""
    blocks: str = "all"
    """Range of blocks, as the table names it."""

    @model_validator(mode="after")
    def what_has_a_dose_names_it(self) -> Self:
        """Steering has a strength."""
        if self.kind == STEERING and self.strength is None:
            raise ValueError(f"the kind {self.kind!r} has a strength; give it")
        return self


class Component(Keys):
    """Which components of a block move an anisotropy most, averaged over layers."""

    metric: Literal["cosine_anisotropy", "singular_anisotropy"]
    """Which anisotropy."""
    view: Literal["all_tokens", "without_first", "centred"] = "all_tokens"
    """View of the tokens."""
    variant: Name = "original"
    """Variant whose values count."""
    by: Literal["rise", "influence"] = "rise"
    """`rise`: the change that a component makes; `influence`: its size, whatever its sign."""
    largest: list[Literal["residual", "attention", "feed_forward", "norm"]] = Field(min_length=1, max_length=3)
    """Those that contribute more than all others."""

    in_thesis: ClassVar[bool] = True
    has_criterion: ClassVar[bool] = False


class Consequence(OfCondition):
    """What a text or an intervention costs, averaged over layers, minus that of what it is compared with."""

    outcome: Literal[tuple(OUTCOMES)]
    """`kl`, `cross_entropy`, `probe_log_loss`, or how alike tokens are: `cosine_anisotropy`,
    `normalized_effective_rank`."""
    kind: Literal[KINDS] = UNTOUCHED
    """What is done to attention."""
    pattern: str | None = None
    """As of an `intervention`; null for `untouched`."""
    minus: str = Field(min_length=1)
    """What is subtracted. Of an intervention: `untouched`, or the pattern of a control of its kind; of the untouched
    model: another text, the `edge`, `key`, `side` or `rewriting control` of `variant`, or `layers middle` (any
    name of layers), the same text there."""
    at: Literal["strength", "kl"] = "strength"
    """What a condition and its control have in common: the strength, or the KL."""

    @model_validator(mode="after")
    def keys_fit_each_other(self) -> Self:
        """An intervention has a pattern, and equal doses have a control."""
        changed = self.kind != UNTOUCHED
        if changed != (self.pattern is not None):
            raise ValueError(f"kind {self.kind!r} with pattern {self.pattern!r}: every kind but 'untouched' has one")
        if self.at != "strength" and (not self.strength or self.minus == UNTOUCHED):
            raise ValueError(f"'at: {self.at}' compares a strength with that of a control, which 'minus' names")
        return self


class Contrast(AtLayers):
    """The paired difference between two variants whose texts differ, averaged over layers."""

    minus: Subtracted
    """Variant that is subtracted, or the `edge`, `key`, `side` or `rewriting control` of `variant`."""

    in_thesis: ClassVar[bool] = True


class Correlation(OfMetric):
    """Pearson correlation with another metric over reviews, within each layer, averaged over layers."""

    with_metric: MetricName
    """The other metric, in its first view."""


class Intervention(OfCondition):
    """The change of a metric by an intervention on attention, averaged over layers, minus that by a control."""

    metric: MetricName
    """Name of a metric."""
    kind: Literal[KINDS[1:]] = STEERING
    """What is done to attention."""
    pattern: str = Field(min_length=1)
    """Where attention goes, or which keys are masked."""
    minus: str = UNTOUCHED
    """`untouched`, or the pattern of a control of the same kind."""
    at: Literal["strength", "kl"] = "strength"
    """What the condition and its control have in common: the strength, or the KL."""

    @model_validator(mode="after")
    def keys_fit_each_other(self) -> Self:
        """Equal KL has a control."""
        if self.at == "kl" and (self.minus == UNTOUCHED or self.strength is None):
            raise ValueError("'at: kl' compares the change by a strength with that of a control, which 'minus' names")
        return self


class NetChange(OfMetric):
    """A review's value at the output minus that at the input, or minus that after the first block."""

    since: Literal[tuple(SINCE)] = "input"
    """`input`: the layer before the first block. `first block`: the layer after it."""

    in_thesis: ClassVar[bool] = True


class Slope(OfMetric):
    """Slope of the least-squares line of a review's values over depth."""

    in_thesis: ClassVar[bool] = True


class Steepest(OfMetric):
    """Depth at which the metric changes fastest in the direction of homogenization."""

    in_thesis: ClassVar[bool] = True


STATISTICS: dict[str, type[Keys]] = {
    "component": Component,
    "consequence": Consequence,
    "contrast": Contrast,
    "correlation": Correlation,
    "intervention": Intervention,
    "net_change": NetChange,
    "slope": Slope,
    "steepest": Steepest,
}
