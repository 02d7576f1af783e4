"""Where a metric is largest."""

from functools import partial

import numpy as np

from homogenization.claims.evidence import Evidence, Found, estimated
from homogenization.claims.terms import Claim, is_pooled
from homogenization.names.verdicts import POOLS
from homogenization.statistics.resampling import uniform_weights, weighted_means


def in_words(claim: Claim) -> str:
    """The maximum or its depth."""
    return "maximum over layers" if claim["of"] == "height" else "depth of the maximum"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The layer at which the metric's mean over reviews is largest: its depth, or the mean there.

    Of pools, from the least to the greatest value of a single one.
    """
    job = evidence.layer_values_of(model, claim)
    values, n = job.values[0], len(job.review_ids)

    def highest(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        means = np.nan_to_num(weighted_means(values, weights), nan=-np.inf)
        return means.max(axis=1) if claim["of"] == "height" else job.depth[means.argmax(axis=1)]

    if is_pooled(claim):
        single = highest(values, np.eye(n))
        low, high = (np.nanmin(single), np.nanmax(single)) if n > 1 else (np.nan, np.nan)
        return {**estimated((highest(values, uniform_weights(n)).item(), low, high)), "n_reviews": n, "unit": POOLS}
    if claim["of"] == "height":
        return evidence.over_reviews(highest, values)
    # a place moves in jumps: which draws find another one says all that single reviews could
    return {**estimated(evidence.resampled(partial(highest, values), n)), "n_reviews": n}
