"""Which components of a block move an anisotropy most."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from homogenization.claims.measurement import Claim, Measurement
from homogenization.claims.statistic import Statistic
from homogenization.run.sections import Name

if TYPE_CHECKING:
    from homogenization.claims.evidence import Evidence


class Component(Statistic):
    """Which components of a block move an anisotropy most, averaged over layers."""

    metric: Literal["cosine_anisotropy", "singular_anisotropy"]
    """Which anisotropy."""
    view: Literal["all_tokens", "without_first", "centred"] = "all_tokens"
    """View of the tokens."""
    variant: Name = "original"
    """Variant whose values count."""
    by: Literal["rise", "influence"] = "rise"
    """`rise`: the change that a component makes; `influence`: its size, whatever its sign."""
    largest: list[Literal["residual", "attention", "feed_forward", "norm"]] = Field(min_length=1, max_length=3)
    """Those that contribute more than all others."""

    in_thesis: ClassVar[bool] = True
    has_criterion: ClassVar[bool] = False

    @classmethod
    def metrics_read(cls, claim: Claim) -> set[str]:
        """What depth does to an anisotropy of components is told by that of the residual stream."""
        return {"max_explainable_variance" if claim["metric"] == "singular_anisotropy" else claim["metric"]}

    @classmethod
    def in_words(cls, claim: Claim) -> str:
        """The lead, in which sense."""
        return f"lead{' in influence' * (claim['by'] == 'influence')} over the other components"

    @classmethod
    def measure(cls, claim: Claim, model: str, evidence: "Evidence") -> Measurement:
        """The lead of the named components of a block over all others."""
        from homogenization.claims.component_evidence import measure_component

        return measure_component(claim, model, evidence)
