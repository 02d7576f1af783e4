"""What a text or an intervention costs."""

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, field_validator, model_validator

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import AT_LAYERS, OverLayers
from homogenization.claims.statistics.intervention import dose_in_words
from homogenization.names.consequences import CROSS_ENTROPY, KL, OUTCOMES
from homogenization.names.variants import ORIGINAL
from homogenization.run.sections import Name, one_of

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Consequence(OverLayers):
    """What a text or an intervention costs, averaged over layers, minus that of what it is compared with."""

    outcome: str
    """`kl`, `cross_entropy`, `probe_log_loss`, `shift`, or how alike tokens are: `cosine_anisotropy`,
    `normalized_effective_rank`."""
    view: Literal["all_tokens", "without_first", "centred", "after_quarter"] = "all_tokens"
    """View of the tokens, for an outcome that is a metric of them."""
    variant: Name = "original"
    """Text whose values count: a variant or a perturbed text."""
    kind: Literal["untouched", "steering", "masked", "clipped", "template", "positions"] = "untouched"
    """What is done to attention."""
    pattern: str | None = None
    """As of an `intervention`; null for `untouched`."""
    strength: float | None = Field(None, ge=-1, le=1)
    """As of an `intervention`."""
    blocks: str = "all"
    """As of an `intervention`."""
    minus: str = Field(min_length=1)
    """What is subtracted. Of an intervention: `untouched`, or the pattern of a control of its kind; of the untouched
    model: another text, the `edge control`, `key control` or `rewriting control` of `variant`, or `layers middle` (any
    name of layers), the same text there."""
    at: Literal["strength", "kl", "cosine"] = "strength"
    """What a condition and its control have in common: the strength, the KL, or the change of the mean cosine over all
    layers."""

    @field_validator("outcome")
    @classmethod
    def known_outcome(cls, outcome: str) -> str:
        """The outcome is measured."""
        return one_of(OUTCOMES)([outcome])[0]

    @model_validator(mode="after")
    def keys_fit_each_other(self) -> Self:
        """An intervention has a pattern, what has a dose names it, and equal doses have a control."""
        changed = self.kind != "untouched"
        if changed != (self.pattern is not None):
            raise ValueError(f"kind {self.kind!r} with pattern {self.pattern!r}: every kind but 'untouched' has one")
        if self.kind in ("steering", "clipped", "template") and not self.strength:
            raise ValueError(f"the kind {self.kind!r} has a strength other than 0; give it")
        if self.at != "strength" and (not self.strength or self.minus == "untouched"):
            raise ValueError(f"'at: {self.at}' compares a strength with that of a control, which 'minus' names")
        return self

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The outcome, what it is compared with, and where: `mean change of kl by first .1 (steering, blocks: all)`."""
        outcome = claim["outcome"] if claim["variant"] == ORIGINAL else f"{claim['outcome']} of {claim['variant']}"
        untouched = claim["kind"] == "untouched"
        words = f"{outcome} minus {claim['minus']}" if untouched else f"change of {outcome} by {dose_in_words(claim)}"
        at_the_output_alone = claim["outcome"] in (KL, CROSS_ENTROPY)
        return f"mean {words}" if at_the_output_alone else f"mean {words} {AT_LAYERS[claim['layers']]}"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The outcome of a text or an intervention, minus that of what it is compared with, over reviews."""
        from homogenization.claims.consequence_evidence import measure_consequence

        return measure_consequence(claim, model, evidence)
