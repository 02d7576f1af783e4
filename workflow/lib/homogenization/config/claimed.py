"""What a claim may state: the statistics that it can name, each with its keys."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.run.errors import nearest
from homogenization.run.sections import Name, Section, one_of
from homogenization.vocabulary.consequences import OUTCOMES
from homogenization.vocabulary.variants import CONTROL_ROLES


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
