"""How a metric changes over depth."""

from homogenization.claims.evidence import Evidence, Found, selected
from homogenization.claims.terms import Claim


def in_words(claim: Claim) -> str:
    """The slope."""
    return "slope over depth"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The slope of the table `depth`."""
    return selected(claim, evidence.change_of(claim, model, "slope"))
