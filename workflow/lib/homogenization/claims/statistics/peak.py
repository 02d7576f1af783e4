"""Where a metric is largest."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from homogenization.claims.measurement import Claim, Interval, Measurement, is_pooled
from homogenization.claims.statistic import OfMetric

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Peak(OfMetric):
    """The layer at which the mean over reviews is largest."""

    of: Literal["depth", "height"] = "depth"
    """The depth of that layer, or the mean there."""

    in_thesis: ClassVar[bool] = True

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The maximum or its depth."""
        return "maximum over layers" if claim["of"] == "height" else "depth of the maximum"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The layer at which the metric's mean over reviews is largest: its depth, or the mean there."""
        from homogenization.statistics.resampling import resampled, weighted_means

        job = evidence.layer_values_of(model, claim)
        values, n = job.values[0], len(job.review_ids)

        def of(rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            def highest(weights: np.ndarray) -> np.ndarray:
                means = np.nan_to_num(weighted_means(values[rows], weights), nan=-np.inf)
                return means.max(axis=1) if claim["of"] == "height" else job.depth[means.argmax(axis=1)]

            return highest

        every = np.arange(n)
        if is_pooled(claim):
            return evidence.over_pools(of(every), n)
        if claim["of"] == "height":
            return evidence.over_reviews(of, n)
        # a place moves in jumps: which draws find another one says all that single reviews could
        return Measurement(Interval(*resampled(of(every), evidence.weights(n), evidence.confidence)), n)
