"""The part of the configuration on example reviews, which a page of the report shows token by token."""

from typing import Annotated

from pydantic import Field

from homogenization.run.sections import Section

ReviewId = Annotated[str, Field(pattern="^[0-9a-f]{12}$")]


class Examples(Section):
    """Reviews that are shown token by token, the original beside each variant: a page of the report for each model."""

    models: list[str] | None = Field(None, min_length=1)
    """Models by name; null: all."""
    variants: list[str] | None = Field(None, min_length=1)
    """Variants by name, beside `original`; null: all."""
    reviews: list[ReviewId] | None = Field(None, min_length=1)
    """Reviews by id; null: those with the least, the median and the greatest difference of `contrast` after the last \
block, model by model, among the reviews that are accepted in both."""
    contrast: list[str] | None = Field(None, min_length=2, max_length=2)
    """Pair [variant, minus] by whose difference reviews are chosen; null: the first of the contrasts by name, minus \
`original`: of a variant that the page shows before others, of these one that has controls, of these one with phrases \
at the front. The difference is of the first that is contrasted of normalised effective rank, maximum explainable \
variance and cosine anisotropy, or else of another metric of how alike tokens are."""
    tokens: int = Field(256, ge=8)
    """Most tokens of a text that are shown: the first ones."""
    matrix_tokens: int = Field(64, ge=2)
    """Most tokens of a text in the matrix of their cosines: the first ones."""
    matrix_layers: int = Field(6, ge=1)
    """Most layers with that matrix, evenly spaced, the last among them; fewer where the page would pass 3 MB."""
