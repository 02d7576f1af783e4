"""The most prominent peak or trough."""

from typing import TYPE_CHECKING, ClassVar, Literal

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import OfMetric

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Extremum(OfMetric):
    """The most prominent peak or trough between the ends of the curve over depth, of those that the reviews settle."""

    kind: Literal["peak", "trough"]
    """`peak` or `trough`."""
    of: Literal["prominence", "height", "depth", "remains"] = "prominence"
    """How far it stands out, the mean there, the depth of its layer, or the share of its prominence that is left
    without the first token."""

    quantity: ClassVar[str] = "{of} of the most prominent {kind}"

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """What is measured of which extremum."""
        of = "share without the first token" if claim["of"] == "remains" else claim["of"]
        return cls.quantity.format(of=of, kind=claim["kind"])

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """How far it stands out, where it is, or what the first token has to do with it."""
        from homogenization.claims.extremum_evidence import measure_extremum

        return measure_extremum(claim, model, evidence)
