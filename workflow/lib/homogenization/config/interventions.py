"""The part of the configuration on interventions: what is done to the attention of models."""

from typing import Annotated

from pydantic import Field, field_validator

from homogenization.interventions.conditions import (
    BLOCK_NAMES,
    KEYS_MASKED,
    METRICS,
    POSITION_NAMES,
    STEEPEST,
    TO,
    Condition,
    cells,
    conditions_of,
)
from homogenization.interventions.patterns import PATTERNS
from homogenization.run.errors import nearest
from homogenization.run.sections import Section, once, one_of, refused

_PATTERNS = tuple(PATTERNS)

Share = Annotated[float, Field(ge=0, le=1)]
Blocks = str | list[Annotated[int, Field(ge=1)]]


class Steering(Section):
    """A' = (1 - λ) A + λ P."""

    patterns: list[str] = Field(list(_PATTERNS), min_length=1)
    """Patterns P ([list](../docs/causes.md#patterns)), controls among them."""
    strengths: list[Share] = Field([0.05, 0.1, 0.2, 0.4], min_length=1)
    """Values of λ, from 0 to 1."""

    _patterns = field_validator("patterns")(one_of(_PATTERNS))
    _removed = field_validator("patterns")(
        refused(
            lambda patterns: "removed" not in patterns,
            "the patterns {} lack 'removed'; without it, mass that a pattern puts in can't be told from mass that it "
            "takes away. Add it",
        )
    )
    _strengths = field_validator("strengths")(once)


class Clipped(Section):
    """The mass on the sink, cut to a bound."""

    bounds: list[Share] = Field([0.1], min_length=1)
    """Most mass on the sink, from 0 to 1."""
    to: list[str] = Field(list(TO), min_length=1)
    """Who gets the rest: `nobody`, or the `others` in proportion."""

    _bounds = field_validator("bounds")(once)
    _to = field_validator("to")(one_of(TO))


class Template(Section):
    """Attention times T^s, T what position alone predicts; and, as a placebo, times a permuted T^s."""

    strengths: list[Annotated[float, Field(ge=-1, le=1)]] = Field([-0.5, 0.5], min_length=1)
    """Values of s, from -1 (position is divided out) to 1, 0 left out. Give both signs of each: the odd part is the \
effect of position, the even part that of damage."""

    _signs = field_validator("strengths")(
        refused(
            lambda strengths: 0 in strengths or {-strength for strength in strengths} != set(strengths),
            "{} lack a sign, or hold 0; give each strength with its opposite, such as -0.5, 0.5",
        )
    )
    _strengths = field_validator("strengths")(once)


class Slopes(Section):
    """Derivatives of the metrics at λ = 0, for each block and pattern."""

    patterns: list[str] = Field(list(_PATTERNS), min_length=1)
    """Patterns P."""
    metrics: list[str] = Field(["cosine_anisotropy", "normalized_effective_rank"], min_length=1)
    """Metrics after the last block: `cosine_anisotropy`, `max_explainable_variance`, `normalized_effective_rank` or \
`cosine_to_first_token`. Each takes a backward pass for each view."""

    _patterns = field_validator("patterns")(one_of(_PATTERNS))
    _metrics = field_validator("metrics")(
        one_of(("cosine_anisotropy", "max_explainable_variance", "normalized_effective_rank", "cosine_to_first_token"))
    )


class Interventions(Section):
    """Attention changed while a model reads: what follows for its tokens, and what it costs the model."""

    models: list[str] | None = Field(None, min_length=1)
    """Models by name; null: all."""
    variants: list[str] = Field(["original"], min_length=1)
    """Variants by name."""
    n_reviews: int = Field(60, ge=1)
    """Reviews: the first of the sample by rank."""
    blocks: list[Blocks] = Field(["all"], min_length=1)
    """Blocks of steering, each entry by itself: `all`, `first`, `middle`, `last` (a quarter, a half, a quarter of the \
depth), `steepest` (where the mean cosine grows fastest in tables/depth.parquet), or a list of numbers."""
    steering: Steering | None = Steering()
    """Mass moved to a pattern; null: none."""
    masked: list[str] = Field(list(KEYS_MASKED))
    """Keys that no other token reads: `first`, `random` (three draws), `most_attended`, `massive`."""
    clipped: Clipped | None = Clipped()
    """The sink's mass cut to a bound; null: not."""
    template: Template | None = None
    """The attention that position predicts, amplified and divided out; null: not. Needs `positional`."""
    positions: list[str] = Field([])
    """Position ids: `offset` (all 64 further: nothing may change), `constant`, `scaled` (twice as far), `shuffled`. \
Rotary models alone."""
    slopes: Slopes | None = Slopes()
    """Derivatives at λ = 0; null: none."""
    metrics: list[str] = Field(
        ["cosine_anisotropy", "max_explainable_variance", "normalized_effective_rank", "cosine_to_first_token"],
        min_length=1,
    )
    """Metrics of all layers: `cosine_anisotropy`, `cosine_to_first_token`, and any spectral metric."""

    _masked = field_validator("masked")(one_of(KEYS_MASKED))
    _positions = field_validator("positions")(one_of(POSITION_NAMES))
    _metrics = field_validator("metrics")(one_of(METRICS))

    @field_validator("blocks")
    @classmethod
    def known_blocks(cls, blocks: list[Blocks]) -> list[Blocks]:
        """Every name is known, no entry is empty, and none stands twice."""
        for entry in blocks:
            if isinstance(entry, str) and entry not in BLOCK_NAMES:
                raise ValueError(
                    f"unknown name {entry!r}{nearest(entry, BLOCK_NAMES)}; allowed: {', '.join(BLOCK_NAMES)}, or a "
                    "list of block numbers"
                )
            if not entry or (not isinstance(entry, str) and entry != sorted(set(entry))):
                raise ValueError(f"{entry} is no ascending list of different block numbers")
        return once(blocks)

    @property
    def conditions(self) -> list[Condition]:
        """What is done, the untouched model first."""
        return conditions_of(self.params())

    @property
    def backward_passes(self) -> int:
        """Backward passes of a review: one for each pair of view and metric whose slopes are asked for, and two more.

        These are for what a pattern delivers: one through all blocks, and one block by block.
        """
        return len(cells(self.slopes.metrics)) + 2 if self.slopes else 0

    @property
    def n_passes(self) -> int:
        """Passes of a review; one in float64 takes as long as two, and a backward pass as two forward."""
        return len(self.conditions) + (2 + 4 * self.backward_passes if self.slopes else 0)

    @property
    def undosed(self) -> bool:
        """Whether there are conditions without a dose: masked keys, clipped sinks or other positions."""
        return bool(self.masked or self.clipped or self.positions)

    @property
    def needs_depth(self) -> bool:
        """Whether steering depends on where homogenization is fastest."""
        return self.steering is not None and STEEPEST in self.blocks
