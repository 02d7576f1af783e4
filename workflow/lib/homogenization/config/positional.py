"""The part of the configuration on positional attention and secondary sinks."""

from pydantic import Field

from homogenization.run.sections import Section


class Positional(Section):
    """How much of the attention of each head follows from positions alone, and which tokens draw it."""

    models: list[str] | None = Field(None, min_length=1)
    """Models by name; null: all."""
    variants: list[str] = Field(["original"], min_length=1)
    """Variants by name."""
