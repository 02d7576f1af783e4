"""What the section `consequences` has read: texts, conditions and jobs, as its rules need them."""

from dataclasses import dataclass
from typing import Any

from homogenization.config.analysis import Consequences
from homogenization.config.interventions import Interventions
from homogenization.interventions.conditions import UNTOUCHED, Condition
from homogenization.names.variants import ORIGINAL

FOLDS = 5  # of the cross-validation of probes; a review and its texts are in one


@dataclass(frozen=True)
class Reading:
    """What is read for the consequences; `study` is the checked `homogenization.config.study.Study`."""

    study: Any

    @property
    def variants(self) -> list[str]:
        """The original and the other variants."""
        return [ORIGINAL, *sorted(set(self.study.consequences.variants or self.study.variants) - {ORIGINAL})]

    @property
    def shards(self) -> list[str]:
        """Shards of which reviews are read."""
        return [shard for shard in self.study.shards if self.study.ranks(shard)[0] < self.study.consequences.n_reviews]

    @property
    def jobs(self) -> list[tuple[str, str, str, str]]:
        """Every model, variant, condition and shard."""
        return [
            (model, variant, condition.name, shard)
            for model in sorted(self.study.models)
            for variant in self.variants
            for shard in self.shards
            for condition in self.conditions(model, variant)
        ]

    def conditions(self, model: str, variant: str) -> list[Condition]:
        """The conditions in which a model reads a variant, the untouched one first."""
        chosen, changed = self.study.consequences, self.study.interventions
        if changed is None or model not in (changed.models or self.study.models) or variant != ORIGINAL:
            return [Condition(UNTOUCHED)]
        names = chosen.conditions
        return [one for one in changed.conditions if names is None or one.kind == UNTOUCHED or one.name in names]

    @property
    def folds(self) -> int | None:
        """Folds of the probes; None without labels."""
        return FOLDS if self.study.corpus.label_column else None


def check_conditions(chosen: Consequences, interventions: Interventions | None) -> None:
    """Refuse conditions that the section `interventions` lacks."""
    known = [one.name for one in interventions.conditions] if interventions else []
    if missing := [name for name in chosen.conditions or () if name not in known]:
        allowed = ", ".join(known) or "none, since there is no section 'interventions'"
        raise ValueError(f"conditions: {missing} are not among those of 'interventions'; allowed: {allowed}")
