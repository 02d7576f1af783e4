"""What the section `consequences` has read: texts, conditions and jobs, as its rules need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from homogenization.config.analysis import Consequences, Probes
from homogenization.config.interventions import Interventions
from homogenization.interventions.conditions import STEEPEST, UNTOUCHED, Condition
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
    def jobs(self) -> list[tuple[str, str, str]]:
        """Every model, variant and shard."""
        return [(model, name, shard) for model in self.models for name in self.variants for shard in self.shards]

    def n_passes(self, model: str, variant: str, shard: str) -> int:
        """Passes of single reviews in a job; the untouched one is run again where conditions are added."""
        return self.study.n_read(shard, self.study.consequences) * len(self.conditions(model, variant))

    def planned_jobs(self, model: str) -> list[list[Any]]:
        """Variant, shard, reviews and conditions of a model's jobs."""
        return [
            [
                variant,
                shard,
                self.study.n_read(shard, self.study.consequences),
                len(self.conditions(model, variant)),
            ]
            for name, variant, shard in self.jobs
            if name == model
        ]

    def conditions(self, model: str, variant: str) -> list[list[Any]]:
        """Fields of the conditions in which a model reads a variant, the untouched one first."""
        return [one.fields for one in self._conditions(model, variant)]

    def _conditions(self, model: str, variant: str) -> list[Condition]:
        chosen, changed = self.study.consequences, self.study.interventions
        intervened = chosen.intervened or [ORIGINAL]
        if changed is None or model not in (changed.models or self.study.models) or variant not in intervened:
            return [Condition(UNTOUCHED)]
        keys = chosen.conditions
        return [one for one in changed.conditions if keys is None or one.kind == UNTOUCHED or one.key in keys]

    def depth(self, model: str, variant: str) -> str | list[str]:
        """The table that says where homogenization is fastest, where a condition needs it."""
        needed = any(one.blocks == STEEPEST for one in self._conditions(model, variant))
        return f"{self.study.results}/tables/depth.parquet" if needed else []

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
        known = [one.key for one in interventions.conditions] if interventions else []
        missing = [key for key in chosen.conditions if key not in known]
        allowed = ", ".join(known) or "none, since there is no section 'interventions'"
        flaws += (
            [f"conditions: {missing} are not among those of 'interventions'; allowed: {allowed}"] if missing else []
        )
    return flaws
