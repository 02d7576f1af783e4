"""The part of the configuration on interventions: what is done to the attention of models."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from homogenization.config.models import OfVariants
from homogenization.interventions.conditions import (
    BLOCK_NAMES,
    CONSTANT,
    KEYS_MASKED,
    Condition,
    conditions_of,
)
from homogenization.interventions.patterns import PATTERNS
from homogenization.run.errors import nearest
from homogenization.run.sections import Section, names_of, once, refused

Patterns = names_of(PATTERNS, 1)
Shares = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1), AfterValidator(once)]
Blocks = str | list[Annotated[int, Field(ge=1)]]


class Steering(Section):
    """A' = (1 - λ) A + λ P."""

    patterns: Patterns = Field(list(PATTERNS))
    """Patterns P ([list](../docs/interventions.md#patterns)), controls among them."""
    strengths: Shares = Field([0.05, 0.1, 0.2, 0.4])
    """Values of λ, from 0 to 1."""

    _removed = field_validator("patterns")(
        refused(
            lambda patterns: "removed" not in patterns,
            "the patterns {} lack 'removed'; without it, mass that a pattern puts in can't be told from mass that it "
            "takes away. Add it",
        )
    )


class Interventions(OfVariants):
    """Attention changed while a model reads: what follows for its tokens, and what it costs the model."""

    models: list[str] | None = Field(None, min_length=1)
    """Models by name; null: all."""
    n_reviews: int = Field(60, ge=1)
    """Reviews: the first of the sample by rank."""
    blocks: list[Blocks] = Field(["all"], min_length=1)
    """Blocks of steering, each entry by itself: `all`, `first`, `middle`, `last` (a quarter, a half, a quarter of the \
depth), or a list of numbers."""
    steering: Steering | None = Steering()
    """Mass moved to a pattern; null: none."""
    masked: names_of(KEYS_MASKED) = Field(list(KEYS_MASKED))
    """Keys that no other token reads: `first`, `random` (three draws), `most_attended`, `massive`."""
    positions: Literal[CONSTANT] | None = None
    """`constant`: all position ids are equal, in rotary models alone; null: they are as they are."""

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
