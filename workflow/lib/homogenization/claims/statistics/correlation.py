"""How two metrics go together over reviews."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from homogenization.claims.measurement import Claim, Interval, Measurement, UnavailableError
from homogenization.claims.statistic import MetricName, OfMetric, views_of, without_first
from homogenization.names.verdicts import ROBUST

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Correlation(OfMetric):
    """Pearson correlation with another metric over reviews, within each layer, averaged over layers."""

    with_metric: MetricName
    """The other metric, in its first view."""

    quantity: ClassVar[str] = "correlation within layers"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The Pearson correlation of two metrics over reviews within a layer, averaged over layers.

        It is compared with that of the same metric without the first token, where the metric has such a view.
        """
        from homogenization.statistics.correlation import pearson_within_layers, spearman_within_layers
        from homogenization.statistics.resampling import RANK_DRAWS, resampled

        other = claim["with_metric"]
        second = {**claim, "metric": other, "view": views_of(other)[0]}
        bare = without_first(claim)
        sides = [claim, second, *([bare] if bare else [])]
        job = evidence.layer_values_of(model, *sides)
        x, y, *rest = (job.of(one["view"], one["metric"]) for one in sides)
        counted = ~np.isnan(x + y).all(axis=1)
        if not counted.any():
            raise UnavailableError(f"no review has {claim['metric']} and {other} at the same layer")
        x, y, *rest = (values[counted] for values in (x, y, *rest))
        n, confidence = len(x), evidence.confidence
        measurement = evidence.over_reviews(lambda rows: partial(pearson_within_layers, x[rows], y[rows]), n)
        if np.isnan(measurement.interval.estimate):
            raise UnavailableError(f"{claim['metric']} or {other} is the same in every review")
        ranked = resampled(partial(spearman_within_layers, x, y), evidence.weights(n)[:RANK_DRAWS], confidence)
        measurement = replace(measurement, checks={ROBUST: Interval(*ranked), **measurement.checks})
        if not rest:
            return measurement

        def beyond(weights: np.ndarray) -> np.ndarray:
            return pearson_within_layers(x, y, weights) - pearson_within_layers(rest[0], y, weights)

        difference = Interval(*resampled(beyond, evidence.weights(n), confidence))
        alone = measurement.interval.estimate - difference.estimate
        return replace(measurement, without_first=alone, beyond=difference)
