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
        """The change of a review's metric from a layer to the output, averaged over reviews.

        Raises:
            UnavailableError: the metric has no value at one of the two layers, or they are the same.
        """
        import numpy as np
        import polars as pl

        from homogenization.inference.layers import net_changes

        job = evidence.layer_values_of(model, claim)
        layer, where = SINCE[claim["since"]]
        changes = net_changes(job.values[0], job.layers, job.depth, layer)
        if np.isnan(changes).all():
            raise UnavailableError(f"{claim['metric']} has no value {where} and at another layer, the output")
        by_review = pl.DataFrame({"review_id": job.review_ids, "value": changes})
        return evidence.mean(claim, by_review, evidence.size_of(claim, model))
