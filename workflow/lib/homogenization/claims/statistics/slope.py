"""How a metric changes over depth."""

from typing import TYPE_CHECKING, ClassVar

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import OfMetric

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Slope(OfMetric):
    """Slope of the least-squares line of a review's values over depth."""

    in_thesis: ClassVar[bool] = True
    quantity: ClassVar[str] = "slope over depth"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The slope of the table `depth`."""
        return evidence.measured(claim, evidence.change_of(claim, model, "slope"))
