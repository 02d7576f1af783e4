"""What depth does to a metric from one end to the other."""

from homogenization.claims.evidence import Evidence, Found, selected
from homogenization.claims.terms import SINCE, Claim, UnavailableError
from homogenization.statistics.depth import CHANGES


def in_words(claim: Claim) -> str:
    """From where to where."""
    return f"change from {SINCE[claim['since']][1].removeprefix('at ')} to the output"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The net change of the table `depth`.

    Raises:
        UnavailableError: the metric has no value at one of the two layers, or they are the same.
    """
    layer, where = SINCE[claim["since"]]
    row = evidence.change_of(claim, model, CHANGES[layer])
    if not row["n_reviews"]:
        raise UnavailableError(f"{claim['metric']} has no value {where} and at another layer, the output")
    return selected(claim, row)
