"""The difference between two variants."""

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from homogenization.claims.measurement import Claim, Measurement, UnavailableError, is_pooled
from homogenization.claims.statistic import AtLayers, Subtracted

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Contrast(AtLayers):
    """The paired difference between two variants whose texts differ, averaged over layers."""

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
        paired, share = evidence.where_texts_differ(paired, claim)
        difference = paired.with_columns(paired["value"] - paired["value_minus"])
        by_review, size = evidence.at_layers(claim, difference), evidence.size_of(claim, model)
        if is_pooled(claim):
            measured = evidence.mean_over_pools(by_review, size)
        else:
            measured = evidence.mean_of_texts(model, (claim["variant"], claim["minus"]), by_review, size)
        return replace(measured, share_changed=share)
