"""Where a metric changes fastest."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from homogenization.claims.measurement import Claim, Interval, Measurement, UnavailableError, is_pooled
from homogenization.claims.statistic import OfMetric
from homogenization.metrics.catalogue import describe_metric
from homogenization.vocabulary.verdicts import POOLS, REVIEWS

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Steepest(OfMetric):
    """Depth at which the metric changes fastest in the direction of homogenization."""

    in_thesis: ClassVar[bool] = True
    quantity: ClassVar[str] = "depth of the fastest change"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The step in which the metric's mean over reviews changes fastest towards homogenization: where it lies."""
        from homogenization.inference.layers import layer_steps, steepest_span

        job = evidence.layer_values_of(model, claim)
        steps = layer_steps(job.values[0], job.layers, job.depth)
        direction, n = describe_metric(claim["metric"]).homogenization, len(job.review_ids)
        drawn = (np.eye(n), 1.0) if is_pooled(claim) else (evidence.weights(n), evidence.settings.confidence)
        span = Interval(*steepest_span(steps, direction, *drawn))
        if np.isnan(span.estimate):
            raise UnavailableError(f"{claim['metric']} moves towards homogenization between no two layers")
        if is_pooled(claim) and n == 1:
            span = Interval(span.estimate, np.nan, np.nan)
        return Measurement(span, n, POOLS if is_pooled(claim) else REVIEWS)
