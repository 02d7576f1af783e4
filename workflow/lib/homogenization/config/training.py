"""The part of the configuration on training: models that are trained further, or from random weights, seed by seed."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from homogenization.config.weights import SOURCES, RandomWeights, Source, one_of_sources
from homogenization.models.built import built_in
from homogenization.run.sections import Section, refused


class Penalty(Section):
    """A term of the loss that grows as tokens grow alike: weight times the mean of a metric over layers."""

    metric: Literal["cosine", "centred_effective_rank"] = "cosine"
    """`cosine`: mean cosine of token pairs; `centred_effective_rank`: minus the normalised effective rank of the \
centred tokens. Of a text, without its first token."""
    weight: float = 0.0
    """Nats for a metric of 1. Above 0 for diverse tokens, below 0 for tokens that are alike; at 0, the metric is \
measured alone: the control."""
    layers: Literal["steepest"] | list[int] = "steepest"
    """Layers of the residual stream, 1 after the first block; `steepest`: the two between which the metric of the \
start grows most, over the held-out reviews."""

    _layers = field_validator("layers", mode="before")(
        refused(
            lambda layers: layers != "steepest" and not _are_layers(layers),
            "{!r} is neither 'steepest' nor a list of different layers, from 1",
        )
    )


def _are_layers(layers: Any) -> bool:
    numbers = layers if isinstance(layers, list) else []
    return 0 < len(numbers) == len(set(map(str, numbers))) and all(
        type(number) is int and number > 0 for number in numbers
    )


class Training(Section):
    """How a causal language model is trained: the next token, AdamW, a warmup and a linear decay to 0."""

    of: one_of_sources(SOURCES)
    """Weights to start from; of `random` ones, each seed draws its own."""
    steps: int = Field(ge=1)
    """Steps of the optimizer, over eight reviews each, which are cut behind 256 tokens."""
    learning_rate: float = Field(1e-3, gt=0)
    """Largest learning rate."""
    penalty: Penalty = Penalty()
    lora: int | None = Field(None, ge=1)
    """Rank of updates of the linear layers of the blocks, merged when saved; null: all weights are trained."""


class TrainedHere(Source):
    """An entry that stands for several models which the workflow trains, one for each seed."""

    trained: Training
    """Training on reviews that are not in the sample."""
    seeds: list[Annotated[int, Field(ge=0)]] = Field([0], min_length=1)
    """Seeds: replicates, each a model named NAME-SEED."""

    _seeds = field_validator("seeds")(
        refused(lambda seeds: seeds != sorted(set(seeds)), "{} is no ascending list of different numbers")
    )

    @property
    def seed(self) -> int:
        """Seed of one model."""
        return self.seeds[0]

    def files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for one model."""
        return built_in(f"{results}/training/{model}")

    def is_control_of(self, other: "TrainedHere") -> bool:
        """Whether one model differs from another by the weight 0 of its penalty alone."""
        weights = self.trained.penalty.weight, other.trained.penalty.weight
        same = self.trained.model_copy(update={"penalty": None}) == other.trained.model_copy(update={"penalty": None})
        return same and self.seeds == other.seeds and weights[0] == 0 != weights[1]

    @property
    def start(self) -> Source:
        """The weights that training starts from; random ones are those of the seed."""
        start = self.trained.of
        return start.model_copy(update={"seed": self.seed}) if isinstance(start, RandomWeights) else start


MODEL_SOURCES = (*SOURCES, TrainedHere)
ModelWeights = one_of_sources(MODEL_SOURCES)


def single_models(models: Mapping[str, Any]) -> dict[str, Any]:
    """`models` with each entry that is trained replaced by its models, one for each seed.

    Raises:
        ValueError: two models would have the same name.
    """
    singles: dict[str, Any] = {}
    for name, model in models.items():
        for new, entry in _models_of(name, model):
            if new in singles or (new != name and new in models):
                raise ValueError(f"{name}: one of its models is called {new!r}, as another is; rename one of both")
            singles[new] = entry
    return singles


def _models_of(name: str, model: Any) -> list[tuple[str, Any]]:
    if not is_trained(model):
        return [(name, model)]
    return [
        (f"{name}-{seed}", model.model_copy(update={"weights": model.weights.model_copy(update={"seeds": [seed]})}))
        for seed in model.weights.seeds
    ]


def is_trained(model: Any) -> bool:
    """Whether the workflow trains the weights of a model, an entry of the configuration."""
    return isinstance(model.weights, TrainedHere)
