"""Where a metric changes fastest."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from homogenization.claims.measurement import Claim, Interval, Measurement, UnavailableError, is_pooled
from homogenization.claims.statistic import OfMetric
from homogenization.names.verdicts import POOLS, REVIEWS

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Steepest(OfMetric):
    """Depth at which the metric changes fastest in the direction of homogenization."""

    in_thesis: ClassVar[bool] = True
    quantity: ClassVar[str] = "depth of the fastest change"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The step of the table `depth` in which the mean over reviews changes fastest: where it lies."""
        row = evidence.change_of(claim, model, "steepest")
        if np.isnan(row["estimate"]):
            raise UnavailableError(f"{claim['metric']} moves towards homogenization between no two layers")
        span = Interval(row["estimate"], row["ci_low"], row["ci_high"])
        return Measurement(span, row["n_reviews"], POOLS if is_pooled(claim) else REVIEWS)
