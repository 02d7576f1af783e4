"""The value of a metric."""

from homogenization.claims.evidence import Evidence, Found, at_layers_of
from homogenization.claims.terms import AT_LAYERS, Claim, is_pooled
from homogenization.names.verdicts import POOLS, REVIEWS


def in_words(claim: Claim) -> str:
    """The mean, or that of the square, and over which layers."""
    return f"mean{' square' * claim['squared']} {AT_LAYERS[claim['layers']]}"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The metric averaged over layers, and over reviews."""
    rows = evidence.values_of(claim, model, claim["variant"])
    if claim["squared"]:
        rows = rows.with_columns(rows["value"] ** 2)
    return evidence.mean(at_layers_of(claim, rows), POOLS if is_pooled(claim) else REVIEWS)
