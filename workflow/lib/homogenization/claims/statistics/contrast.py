"""The difference between two variants."""

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from homogenization.claims.measurement import Claim, Interval, Measurement, is_pooled
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
        """The difference of the table `contrasts`; of pooled tokens, that of the pools."""
        if is_pooled(claim):
            variant, minus = (evidence.values_of(claim, model, claim[role]) for role in cls.texts)
            paired = variant.join(minus, on=("review_id", "layer"), suffix="_minus", maintain_order="left")
            evidence.where_texts_differ(paired, claim)
            difference = paired.with_columns(paired["value"] - paired["value_minus"])
            return evidence.mean_over_pools(evidence.at_layers(claim, difference), evidence.size_of(claim, model))
        row = evidence.difference_of(claim, model)
        measured, n_same = evidence.measured(claim, row, "mean"), row["n_same_first"]
        same = Interval(*(row[f"{name}_same_first"] for name in ("mean", "ci_low", "ci_high")))
        same = None if n_same is None or np.isnan(same.estimate) else same
        return replace(measured, n_same_first=n_same, same_first=same, share_changed=row["share_changed"])
