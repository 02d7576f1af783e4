"""What depth does to a metric from one end to the other."""

from typing import TYPE_CHECKING, ClassVar, Literal

from homogenization.claims.measurement import Claim, Measurement, UnavailableError
from homogenization.claims.statistic import SINCE, OfMetric

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class NetChange(OfMetric):
    """A review's value at the output minus that at the input, or minus that after the first block."""

    since: Literal["input", "first block"] = "input"
    """`input`: the layer before the first block. `first block`: the layer after it."""

    in_thesis: ClassVar[bool] = True

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """From where to where."""
        return f"change from {SINCE[claim['since']][1].removeprefix('at ')} to the output"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The net change of the table `depth`.

        Raises:
            UnavailableError: the metric has no value at one of the two layers, or they are the same.
        """
        layer, where = SINCE[claim["since"]]
        row = evidence.change_of(claim, model, ("net_change", "net_change_after_first")[layer])
        if not row["n_reviews"]:
            raise UnavailableError(f"{claim['metric']} has no value {where} and at another layer, the output")
        return evidence.measured(claim, row)
