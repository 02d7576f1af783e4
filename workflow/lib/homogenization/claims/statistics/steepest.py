"""Where a metric changes fastest."""

import numpy as np

from homogenization.claims.evidence import INTERVAL, Evidence, Found
from homogenization.claims.terms import Claim, UnavailableError, is_pooled
from homogenization.names.verdicts import POOLS, REVIEWS


def in_words(claim: Claim) -> str:
    """Its depth."""
    return "depth of the fastest change"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The step of the table `depth` in which the mean over reviews changes fastest: where it lies."""
    row = evidence.change_of(claim, model, "steepest")
    if np.isnan(row["mean"]):
        raise UnavailableError(f"{claim['metric']} moves towards homogenization between no two layers")
    span = dict(
        zip((*INTERVAL, "n_reviews"), (row[name] for name in ("mean", "ci_low", "ci_high", "n_reviews")), strict=True)
    )
    return {**span, "unit": POOLS if is_pooled(claim) else REVIEWS}
