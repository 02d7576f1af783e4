"""How alike a variant and the original reviews are."""

import polars as pl

from homogenization.claims.evidence import Evidence, Found
from homogenization.claims.terms import Claim, UnavailableError
from homogenization.names.variants import ORIGINAL
from homogenization.tables.comparisons import too_few_changed


def in_words(claim: Claim) -> str:
    """The mean of BERTScore."""
    return "mean F1"


def measure(claim: Claim, model: None, evidence: Evidence) -> Found:
    """BERTScore F1 of a variant over all its changed texts, accepted or not, because acceptance selects by F1."""
    variant = claim["variant"]
    scores = evidence.similarity.filter(variant=variant)
    if scores.is_empty() and variant in evidence.variants:
        raise UnavailableError(f"no review was rewritten as '{variant}'")
    if scores.is_empty():
        raise UnavailableError(f"the study has no similarity of a variant '{variant}'")
    changed = scores.filter(pl.col("changed").fill_null(True))
    if reason := too_few_changed((variant, ORIGINAL), len(changed), len(scores), evidence.min_reviews):
        raise UnavailableError(reason)
    found = evidence.mean(changed.select("review_id", value="f1"))
    return {**found, "share_changed": len(changed) / len(scores)}
