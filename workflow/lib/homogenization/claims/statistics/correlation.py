"""How two metrics go together over reviews."""

import numpy as np

from homogenization.claims.evidence import Evidence, Found
from homogenization.claims.terms import Claim, UnavailableError, views_of, without_first
from homogenization.statistics.correlation import pearson_within_layers


def in_words(claim: Claim) -> str:
    """The correlation."""
    return "correlation within layers"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The Pearson correlation of two metrics over reviews within a layer, averaged over layers.

    It is compared with that of the same metric without the first token, where the metric has such a view.
    """
    other, bare = claim["with_metric"], without_first(claim)
    sides = [claim, {**claim, "metric": other, "view": views_of(other)[0]}, *([bare] if bare else [])]
    job = evidence.layer_values_of(model, *sides)
    x, y, *rest = (job.of(one["view"], one["metric"]) for one in sides)
    counted = ~np.isnan(x + y).all(axis=1)
    if not counted.any():
        raise UnavailableError(f"no review has {claim['metric']} and {other} at the same layer")
    x, y, *rest = (values[counted] for values in (x, y, *rest))
    n = len(x)
    found = evidence.over_reviews(pearson_within_layers, x, y)
    if np.isnan(found["estimate"]):
        raise UnavailableError(f"{claim['metric']} or {other} is the same in every review")
    if not rest:
        return found

    def beyond(weights: np.ndarray) -> np.ndarray:
        return pearson_within_layers(x, y, weights) - pearson_within_layers(rest[0], y, weights)

    difference, low, high = evidence.resampled(beyond, n)
    return found | {"without_first": found["estimate"] - difference, "beyond_low": low, "beyond_high": high}
