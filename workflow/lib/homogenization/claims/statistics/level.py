"""The value of a metric."""

from typing import TYPE_CHECKING, ClassVar

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import AT_LAYERS, AtLayers

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Level(AtLayers):
    """The value itself, averaged over layers."""

    squared: bool = False
    """The square of each value, such as the variance of a standard deviation."""

    in_thesis: ClassVar[bool] = True

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The mean, or that of the square, and where it is taken."""
        return f"mean{' square' * claim['squared']} {AT_LAYERS[claim['layers']]}"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The metric averaged over layers, and over reviews."""
        rows = evidence.values_of(claim, model, claim["variant"])
        if claim["squared"]:
            rows = rows.with_columns(rows["value"] ** 2)
        return evidence.mean(claim, evidence.at_layers(claim, rows))
