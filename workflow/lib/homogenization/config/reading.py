"""What the section `consequences` has read: texts, conditions and jobs, as its rules need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from homogenization.config.analysis import Consequences, Probes
from homogenization.config.interventions import Interventions
from homogenization.interventions.conditions import UNTOUCHED, Condition
from homogenization.names.variants import ORIGINAL


@dataclass(frozen=True)
class Reading:
    """What is read for the consequences; `study` is the checked `homogenization.config.study.Study`."""

    study: Any

    @property
    def models(self) -> list[str]:
        """Models that read, sorted."""
        return sorted(self.study.consequences.models or self.study.models)

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
            for model in self.models
            for variant in self.variants
            for shard in self.shards
            for condition in self.conditions(model, variant)
        ]

    def conditions(self, model: str, variant: str) -> list[Condition]:
        """The conditions in which a model reads a variant, the untouched one first."""
        chosen, changed = self.study.consequences, self.study.interventions
        intervened = chosen.intervened or [ORIGINAL]
        if changed is None or model not in (changed.models or self.study.models) or variant not in intervened:
            return [Condition(UNTOUCHED)]
        names = chosen.conditions
        return [one for one in changed.conditions if names is None or one.kind == UNTOUCHED or one.name in names]

    @property
    def intervenes(self) -> bool:
        """Whether a text is read with changed attention."""
        return any(len(self.conditions(model, ORIGINAL)) > 1 for model in self.models)

    @property
    def probes(self) -> dict[str, Any] | None:
        """What is asked of probes; None without labels."""
        chosen: Probes | None = self.study.consequences.probes
        return chosen.params() if chosen and self.study.corpus.label_column else None


def problems(chosen: Consequences, interventions: Interventions | None, variants: Sequence[str]) -> list[str]:
    """What does not fit the other sections, in words."""
    flaws = []
    texts = chosen.variants or variants
    unknown = [name for name in chosen.intervened or () if name not in texts]
    if unknown:
        flaws.append(f"intervened: {unknown} are not read; allowed: {', '.join(texts)}")
    if chosen.conditions is not None:
        known = [one.name for one in interventions.conditions] if interventions else []
        missing = [name for name in chosen.conditions if name not in known]
        allowed = ", ".join(known) or "none, since there is no section 'interventions'"
        flaws += (
            [f"conditions: {missing} are not among those of 'interventions'; allowed: {allowed}"] if missing else []
        )
    return flaws
