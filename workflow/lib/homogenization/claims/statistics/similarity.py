"""How alike a variant and the original reviews are."""

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from homogenization.claims.measurement import Claim, Measurement, UnavailableError
from homogenization.claims.statistic import Statistic
from homogenization.names.variants import ORIGINAL
from homogenization.run.sections import Name

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Similarity(Statistic):
    """BERTScore F1 of a variant's changed texts against the original reviews."""

    variant: Name
    """A rewritten variant."""

    of_model: ClassVar[bool] = False
    quantity: ClassVar[str] = "mean F1"

    @classmethod
    def measure(cls, claim: Claim, model: None, evidence: "Evidence") -> Measurement:
        """BERTScore F1 of a variant over all its changed texts, accepted or not, because acceptance selects by F1."""
        import polars as pl

        from homogenization.tables.comparisons import too_few_changed

        scores = evidence.tables.similarity.filter(variant=claim["variant"])
        if scores.is_empty() and claim["variant"] in evidence.settings.variants:
            raise UnavailableError(f"no review was rewritten as '{claim['variant']}'")
        if scores.is_empty():
            raise UnavailableError(f"the study has no similarity of a variant '{claim['variant']}'")
        changed = scores.filter(pl.col("changed").fill_null(True))
        reason = too_few_changed((claim["variant"], ORIGINAL), len(changed), len(scores), evidence.settings.min_reviews)
        if reason is not None:
            raise UnavailableError(reason)
        measured = evidence.mean_over_reviews(changed.select("review_id", value="f1"))
        return replace(measured, share_changed=len(changed) / len(scores))
