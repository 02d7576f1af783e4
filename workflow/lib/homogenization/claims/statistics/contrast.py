"""The difference between two variants."""

from typing import TYPE_CHECKING, ClassVar

from homogenization.claims.measurement import Claim, Measurement, UnavailableError
from homogenization.claims.statistic import AtLayers, Subtracted

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Contrast(AtLayers):
    """The paired difference between two variants, averaged over layers."""

    minus: Subtracted
    """Variant that is subtracted, or the `edge control`, `key control` or `rewriting control` of `variant`."""

    in_thesis: ClassVar[bool] = True
    texts: ClassVar[tuple[str, ...]] = ("variant", "minus")
    quantity: ClassVar[str] = "mean difference"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The difference of the metric between two variants of a review, averaged over layers, and over reviews."""
        variant, minus = (evidence.values_of(claim, model, claim[role]) for role in cls.texts)
        paired = variant.join(minus, on=("review_id", "layer"), suffix="_minus", maintain_order="left")
        if paired.is_empty():
            lacking = f"no review has {claim['metric']} in both '{claim['variant']}' and '{claim['minus']}'"
            raise UnavailableError(lacking)
        difference = paired.with_columns(paired["value"] - paired["value_minus"])
        return evidence.mean(claim, evidence.at_layers(claim, difference), evidence.depth_range_of(claim, model))
