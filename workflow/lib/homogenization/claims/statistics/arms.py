"""What sets trained models apart."""

from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, model_validator

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import AT_LAYERS, AtLayers
from homogenization.run.sections import Name

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Arms(AtLayers):
    """The difference between two arms of trained models, averaged over layers, seed by seed."""

    arm: Name
    """An arm: an entry of `models` that is trained."""
    minus: Name
    """The arm, or the model without seeds, that is subtracted."""
    step: int | None = Field(None, ge=0)
    """Snapshot after this step; null: the last."""
    at: Literal["step", "loss"] = "step"
    """`step`: after as many steps; `loss`: where both arms have the same held-out loss, the lowest that both reach,
    between snapshots."""

    of_model: ClassVar[bool] = False

    @model_validator(mode="after")
    def no_step_at_equal_loss(self) -> Self:
        """Where losses are equal, the arms have made different numbers of steps."""
        if self.at == "loss" and self.step is not None:
            raise ValueError("'step' has no meaning with 'at: loss'; leave it out")
        return self

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The mean difference, at which snapshots and where."""
        at = " at equal held-out loss" * (claim["at"] == "loss")
        return f"mean difference over seeds{at} {AT_LAYERS[claim['layers']]}"

    @classmethod
    def measure(cls, claim: Claim, model: None, evidence: "Evidence") -> Measurement:
        """The difference of the metric between two arms of trained models, averaged over layers, over seeds."""
        from homogenization.claims.arm_evidence import measure_arms

        return measure_arms(claim, evidence)
