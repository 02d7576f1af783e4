"""The part of the configuration on models that read: their weights, how they run, and the stored states."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from homogenization.config.training import ModelWeights
from homogenization.config.weights import TrainedWeights
from homogenization.run.sections import Section, once

Dtype = Literal["float32", "bfloat16", "float16"]


class RunModel(Section):
    """Weights, and how a job runs them."""

    weights: TrainedWeights
    dtype: Dtype = "float32"
    """Precision of the forward pass."""


class OfVariants(Section):
    """What is done to some variants."""

    variants: list[str] = Field(["original"], min_length=1)
    """Variants by name."""


class Model(RunModel):
    """A model whose states are studied."""

    weights: ModelWeights
    """Where the weights come from."""
    bos: Literal["default", "always", "never"] = "default"
    """First token: what the tokenizer does, always one BOS token, or never one."""


class States(Section):
    """The stored states of a forward pass."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Storage type of the states; `auto`: the model's own."""
    layers: Annotated[list[int], Field(min_length=2), AfterValidator(once)] | None = None
    """Layers of the residual stream to store, 0 before the first block; negative ones count from the last; null: \
all."""
    keep: bool = True
    """false: states are deleted as soon as they are measured."""
