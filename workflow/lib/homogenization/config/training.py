"""The part of the configuration on training: models that are trained further, or from random weights, seed by seed."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from homogenization.config.weights import one_of_sources
from homogenization.models.source import Source, built_in
from homogenization.models.weights import SOURCES, RandomWeights
from homogenization.run.sections import Section, once, refused


class Penalty(Section):
    """A term of the loss by which tokens grow more alike or less while the model learns."""

    metric: Literal["cosine", "centred_effective_rank"]
    """`cosine`: mean cosine of token pairs; `centred_effective_rank`: normalised effective rank of the centred \
tokens. The first token is left out of both."""
    strength: float
    """Nats for a metric of 1, with the sign of homogenization: above 0, the model is drawn to diverse tokens, below 0 \
to tokens that are alike."""
    layers: Annotated[list[Annotated[int, Field(ge=1)]], AfterValidator(once)] = Field(min_length=1)
    """Layers of the residual stream, 1 after the first block; the metric is averaged over them."""

    _strength = field_validator("strength")(
        refused(lambda strength: strength == 0, "0 does nothing; leave 'penalty' out")
    )


class Training(Section):
    """How a causal language model is trained: the next token, AdamW, a warmup and a linear decay to 0."""

    of: one_of_sources(SOURCES)
    """Weights to start from; of `random` ones, each seed draws its own."""
    steps: int = Field(ge=1)
    """Steps of the optimizer."""
    batch_size: int = Field(8, ge=1)
    """Reviews of a step."""
    max_tokens: int = Field(256, ge=4)
    """Most tokens of a review; a longer one is cut."""
    learning_rate: float = Field(1e-3, gt=0)
    """Largest learning rate."""
    penalty: Penalty | None = None
    """Penalty on tokens that are alike; null: none."""
    held_out: int = Field(100, ge=2)
    """Reviews that no seed is trained on and whose loss is measured, the same for all seeds."""
    lora: int | None = Field(None, ge=1)
    """Rank of updates of the linear layers of the blocks, merged when saved; null: all weights are trained."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Precision of weights that are not trained, so `bfloat16` needs `lora`."""

    _whole_weights = model_validator(mode="after")(
        refused(
            lambda tuning: tuning.dtype == "bfloat16" and tuning.lora is None,
            "dtype 'bfloat16' rounds small updates away; give 'lora', or use float32",
        )
    )


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

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for one model."""
        return built_in(f"{results}/training/{model}")

    @property
    def start(self) -> Source:
        """The weights that training starts from; random ones are those of the seed."""
        start = self.trained.of
        return start.model_copy(update={"seed": self.seed}) if isinstance(start, RandomWeights) else start

    def start_files(self, results: str, model: str = "") -> list[str]:
        """The files that training starts from."""
        return self.start.files(results, model)


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
