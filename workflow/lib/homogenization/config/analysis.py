"""The part of the configuration on analyses: of texts by readers, states, changed attention; claims and figures."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from homogenization.config.claims import load_all_claims
from homogenization.config.paths import InputPath, readable
from homogenization.interventions.conditions import BLOCK_NAMES, CONSTANT, KEYS_MASKED
from homogenization.interventions.patterns import PATTERNS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.run.errors import nearest
from homogenization.run.sections import Names, Section, ascending, names_of, once, without_nulls
from homogenization.variants.ratings import readings

# mass that a pattern puts in can't be told from mass that it takes away without the pattern that takes it away alone
_with_removed = AfterValidator(lambda names: names if "removed" in names else [*names, "removed"])
# one file may stand without a list
ClaimsFiles = Annotated[
    list[InputPath] | None,
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given, str | list[str] | None),
    AfterValidator(readable(load_all_claims)),
]


class Audit(Section):
    """A blind reading of rewritten sentences by people."""

    ratings: list[InputPath] = Field([])
    """Filled sheets, one CSV file for each reader; without any, the texts are not audited."""

    _ratings = field_validator("ratings")(readable(readings))


class Mauve(Section):
    """MAUVE between consecutive layers, with its split-half null."""

    variants: Names | None = Field(None, min_length=1)
    """Variants by name; null: all."""
    n_tokens: int = Field(1000, ge=50)
    """Tokens of each half, drawn from a shard; fewer where it has fewer."""


class Contrasts(Section):
    """Paired differences between variants, review by review, with intervals and tests."""

    pairs: Annotated[list[Annotated[Names, Field(min_length=2, max_length=2)]], AfterValidator(once)] | None = None
    """Pairs [variant, minus]; null: each variant minus `original`, and minus each of its controls."""
    metrics: names_of(METRIC_NAMES, 1) | None = None
    """Metrics to contrast; null: those that measure homogenization or attention, but for sums over tokens."""
    by: str | None = None
    """Column of a local `corpus.source` whose values are groups, each contrasted beside the whole."""
    margin: float = Field(0.02, ge=0, lt=1)
    """Differences are negligible if their 99 % interval lies within this share of the yardstick."""
    min_reviews: int = Field(10, ge=6)
    """Fewest reviews, accepted in both variants with texts that differ, with which a comparison is tested."""


class Components(Section):
    """Contributions of attention, feed-forward network and residual connections of each block to anisotropy."""

    variants: Names = Field(["original"], min_length=1)
    """Variants by name."""


class Steering(Section):
    """A' = (1 - λ) A + λ P."""

    patterns: Annotated[names_of(PATTERNS, 1), _with_removed] = Field(list(PATTERNS))
    """Patterns P ([list](../docs/interventions.md#patterns)), controls among them; `removed` always is."""
    strengths: list[Annotated[float, Field(ge=0, le=1)]] = Field([0.05, 0.1, 0.2, 0.4])
    """Values of λ, from 0 to 1."""


class Interventions(Section):
    """Attention changed while a model reads: what follows for its tokens, and what it costs the model."""

    variants: Names = Field(["original"], min_length=1)
    """Variants by name."""
    models: Names | None = Field(None, min_length=1)
    """Models by name; null: all."""
    n_reviews: int = Field(60, ge=1)
    """Reviews: the first of the sample by rank."""
    blocks: list[str | list[int]] = Field(["all"])
    """Blocks of steering, each entry by itself: `all`, `first`, `middle`, `last`, or a list of numbers."""
    steering: Steering | None = Steering()
    """Mass moved to a pattern; null: none."""
    masked: names_of(KEYS_MASKED) = Field(list(KEYS_MASKED))
    """Keys that no other token reads: `first`, `random` (three draws), `most_attended`, `massive`."""
    positions: Literal[CONSTANT] | None = None
    """`constant`: all position ids are equal, in rotary models alone; null: they are as they are."""

    @field_validator("blocks", mode="before")
    @classmethod
    def known_blocks(cls, blocks: Any) -> Any:
        """Every name is known, and numbers are in order."""
        for entry in blocks if isinstance(blocks, list) else []:
            if entry not in tuple(BLOCK_NAMES) and not ascending(entry, 1):
                allowed = f"{', '.join(BLOCK_NAMES)}, or an ascending list of block numbers, from 1"
                raise ValueError(f"{entry!r} names no blocks{nearest(str(entry), BLOCK_NAMES)}; allowed: {allowed}")
        return blocks


class Consequences(Section):
    """Texts read untouched and under interventions: what homogenization costs predictions and probes."""

    variants: Names | None = Field(None, min_length=1)
    """Variants by name, beside `original`; null: all."""
    n_reviews: int = Field(200, ge=2)
    """Reviews: the first of the sample by rank."""


class Figures(Section):
    """Style and labels of figures; an edit reruns no computation."""

    style: Literal["report", "paper"] = "report"
    """`paper`: as wide as a column or a page, 8 pt text, without title and note, as PDF beside SVG."""
    labels: dict[str, str] = Field({})
    """Name of a model or variant in figures and report; tables keep the key."""

    _names = field_validator("labels", mode="before")(without_nulls)
