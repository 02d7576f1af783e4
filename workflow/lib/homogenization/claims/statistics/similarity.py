"""How alike a variant and the original reviews are."""

from typing import TYPE_CHECKING, ClassVar

from homogenization.claims.measurement import Claim, Measurement, UnavailableError
from homogenization.claims.statistic import Statistic
from homogenization.run.sections import Name

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Similarity(Statistic):
    """BERTScore F1 of a variant against the original reviews."""

    variant: Name
    """A rewritten variant."""

    of_model: ClassVar[bool] = False
    quantity: ClassVar[str] = "mean F1"

    @classmethod
    def measure(cls, claim: Claim, model: None, evidence: "Evidence") -> Measurement:
        """BERTScore F1 of a variant over all its reviews, accepted or not, because acceptance selects by F1."""
        scores = evidence.tables.similarity.filter(variant=claim["variant"])
        if scores.is_empty() and claim["variant"] in evidence.settings.variants:
            raise UnavailableError(f"no review was rewritten as '{claim['variant']}'")
        if scores.is_empty():
            raise UnavailableError(f"the study has no similarity of a variant '{claim['variant']}'")
        return evidence.mean_over_reviews(scores.select("review_id", value="f1"))
