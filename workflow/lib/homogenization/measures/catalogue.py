"""What is measured of the states of a study: the rule of each measure, its parameters, and when a study has it.

To add a measure, add one entry here and a module of its name beside this one with one class (`measures.reviews`).
This module is pure data that the Snakefile reads, so it imports nothing.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """How the files of a measure are made, for each model, variant and shard.

    Attributes:
        name: name of its module, of its folder in results and, after `compute_`, of its rule.
        does: what the rule does, for `snakemake --list-rules`.
        parts: ends of the names of its files, in the order of its tables; "" for a single one.
        params: parameters of its class for a study.
        minutes: run time of an attempt; None: that of the profile.
        when: test whether a study (`config.study.Study`) has it.
        variants: the variants of which a study has it.
    """

    name: str
    does: str
    parts: tuple[str, ...] = ("",)
    params: Callable[[Any], Mapping[str, Any]] = lambda study: {}
    minutes: int | None = None
    when: Callable[[Any], Any] = lambda study: True
    variants: Callable[[Any], Collection[str]] = lambda study: study.variants

    @property
    def paths(self) -> list[str]:
        """Its files in results, with the wildcards `model`, `variant` and `shard`."""
        return [f"{self.name}/{{model}}/{{variant}}/{{shard}}{part and f'.{part}'}.parquet" for part in self.parts]


_ENTRIES = (
    Measure(
        name="spectra",
        does="Singular values of every review, layer and view.",
        params=lambda study: {"views": sorted(study.views)},
        minutes=240,
    ),
    Measure(
        name="geometry",
        does="Norms, directions and cosines of the tokens of every review and layer.",
    ),
    Measure(
        name="attention",
        does="Profiles of the attention that tokens receive, for every review and layer.",
        params=lambda study: {"n_bins": 20},
        when=lambda study: study.states.record_attention,
    ),
    Measure(
        name="pooled",
        does="Singular values and cosines of the tokens of all reviews of a shard together.",
        minutes=240,
        variants=lambda study: study.pooled.variants,
    ),
    Measure(
        name="mauve",
        does="MAUVE between consecutive layers, with its split-half null.",
        params=lambda study: {
            "n_tokens": study.mauve.n_tokens,
            "seeds": list(range(study.seed, study.seed + study.mauve.seeds)),
            "scale": study.mauve.scale,
        },
        minutes=240,
        variants=lambda study: study.mauve_variants,
    ),
)
MEASURES = {measure.name: measure for measure in _ENTRIES}


def made_measures(study: Any) -> list[Measure]:
    """The measures that `study` has."""
    return [measure for measure in MEASURES.values() if measure.when(study)]
