"""The part of the configuration on interventions: what is done to the attention of models."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from homogenization.config.models import OfVariants
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
from homogenization.run.sections import Section, names_of, once, refused

_SLOPED = ("cosine_anisotropy", "max_explainable_variance", "normalized_effective_rank", "cosine_to_first_token")

Patterns = names_of(PATTERNS, 1)
Shares = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1), AfterValidator(once)]
Blocks = str | list[Annotated[int, Field(ge=1)]]


class Steering(Section):
    """A' = (1 - λ) A + λ P."""

    patterns: Patterns = Field(list(PATTERNS))
    """Patterns P ([list](../docs/causes.md#patterns)), controls among them."""
    strengths: Shares = Field([0.05, 0.1, 0.2, 0.4])
    """Values of λ, from 0 to 1."""

    _removed = field_validator("patterns")(
        refused(
            lambda patterns: "removed" not in patterns,
            "the patterns {} lack 'removed'; without it, mass that a pattern puts in can't be told from mass that it "
            "takes away. Add it",
        )
    )


class Clipped(Section):
    """The mass on the sink, cut to a bound."""

    bounds: Shares = Field([0.1])
    """Most mass on the sink, from 0 to 1."""
    to: names_of(TO, 1) = Field(list(TO))
    """Who gets the rest: `nobody`, or the `others` in proportion."""


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

    patterns: Patterns = Field(list(PATTERNS))
    """Patterns P."""
    metrics: names_of(_SLOPED, 1) = Field(["cosine_anisotropy", "normalized_effective_rank"])
    """Metrics after the last block: `cosine_anisotropy`, `max_explainable_variance`, `normalized_effective_rank` or \
`cosine_to_first_token`. Each takes a backward pass for each view."""


class Interventions(OfVariants):
    """Attention changed while a model reads: what follows for its tokens, and what it costs the model."""

    n_reviews: int = Field(60, ge=1)
    """Reviews: the first of the sample by rank."""
    blocks: list[Blocks] = Field(["all"], min_length=1)
    """Blocks of steering, each entry by itself: `all`, `first`, `middle`, `last` (a quarter, a half, a quarter of the \
depth), `steepest` (where the mean cosine grows fastest in tables/depth.parquet), or a list of numbers."""
    steering: Steering | None = Steering()
    """Mass moved to a pattern; null: none."""
    masked: names_of(KEYS_MASKED) = Field(list(KEYS_MASKED))
    """Keys that no other token reads: `first`, `random` (three draws), `most_attended`, `massive`."""
    clipped: Clipped | None = Clipped()
    """The sink's mass cut to a bound; null: not."""
    template: Template | None = None
    """The attention that position predicts, amplified and divided out; null: not. Needs `positional`."""
    positions: names_of(POSITION_NAMES) = Field([])
    """Position ids: `offset` (all 64 further: nothing may change), `constant`, `scaled` (twice as far), `shuffled`. \
Rotary models alone."""
    slopes: Slopes | None = Slopes()
    """Derivatives at λ = 0; null: none."""
    metrics: names_of(METRICS, 1) = Field(list(_SLOPED))
    """Metrics of all layers: `cosine_anisotropy`, `cosine_to_first_token`, and any spectral metric."""

    @field_validator("blocks", mode="before")
    @classmethod
    def known_blocks(cls, blocks: Any) -> Any:
        """Every name is known, no entry is empty, and none stands twice."""
        if not isinstance(blocks, list):
            return blocks
        for entry in blocks:
            if isinstance(entry, str) and entry not in BLOCK_NAMES:
                raise ValueError(
                    f"unknown name {entry!r}{nearest(entry, BLOCK_NAMES)}; allowed: {', '.join(BLOCK_NAMES)}, or a "
                    "list of block numbers"
                )
            numbers = entry if isinstance(entry, list) and all(type(n) is int and n > 0 for n in entry) else []
            if not isinstance(entry, str) and (not numbers or numbers != sorted(set(numbers))):
                raise ValueError(f"{entry} is no ascending list of different block numbers, from 1")
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
