"""What changed attention does."""

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import AT_LAYERS, MetricName, OverLayers
from homogenization.names.numbers import significant
from homogenization.run.sections import Name

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence

_EQUAL = {"kl": "KL", "strength": "strength", "cosine": "change of the mean cosine"}


class Intervention(OverLayers):
    """The change of a metric by an intervention on attention, averaged over layers, minus that by a control."""

    metric: MetricName
    """Name of a metric."""
    view: Literal["all_tokens", "without_first", "centred", "after_quarter"] = "all_tokens"
    """View of the tokens, as interventions have them."""
    variant: Name = "original"
    """Variant whose values count."""
    kind: Literal["steering", "masked", "clipped", "template", "positions"] = "steering"
    """What is done to attention."""
    pattern: str = Field(min_length=1)
    """Where attention goes, or which keys are masked."""
    strength: float | None = Field(None, ge=-1, le=1)
    """Share of the attention that is moved, bound of a cap, or signed strength."""
    blocks: str = "all"
    """Range of blocks, as the table names it."""
    minus: str = "untouched"
    """`untouched`, or the pattern of a control of the same kind."""
    at: Literal["strength", "kl"] = "strength"
    """What the condition and its control have in common: the strength, or the KL."""
    part: Literal["whole", "odd", "even"] = "whole"
    """The whole change, or a part of the changes at both signs of the strength."""

    @model_validator(mode="after")
    def keys_fit_each_other(self) -> Self:
        """What has a dose names it, parts have two signs, and equal KL has a control."""
        if self.kind in ("steering", "clipped", "template") and not self.strength:
            raise ValueError(f"the kind {self.kind!r} has a strength other than 0; give it")
        if self.kind in ("steering", "clipped") and self.strength < 0:
            raise ValueError(f"strength {self.strength} of the kind {self.kind!r}; allowed: above 0, at most 1")
        if self.part != "whole" and self.kind != "template":
            raise ValueError(f"the part {self.part!r} needs strengths of both signs, which the kind 'template' has")
        if self.at == "kl" and (self.minus == "untouched" or self.part != "whole" or not self.strength):
            raise ValueError(
                "'at: kl' compares a whole change by a strength with that of a control, which 'minus' names"
            )
        return self

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The mean change, by what, and where."""
        return f"mean change by {dose_in_words(claim)} {AT_LAYERS[claim['layers']]}"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The change of the metric by an intervention on attention, minus that by a control, over reviews."""
        from homogenization.claims.intervention_evidence import measure_intervention

        return measure_intervention(claim, model, evidence)


def dose_in_words(claim: Claim) -> str:
    """What a claim on an intervention compares: `first .2 (steering, all blocks) minus removed at equal KL`."""
    dose = "" if claim["strength"] is None else f" {significant(claim['strength'])}"
    dose = f"{claim['pattern']}{dose} ({claim['kind']}, blocks: {claim['blocks']})"
    part = "" if claim.get("part", "whole") == "whole" else f", {claim['part']} part"
    if claim["minus"] == "untouched":
        return f"{dose}{part}"
    return f"{dose}{part} minus {claim['minus']} at equal {_EQUAL[claim['at']]}"
