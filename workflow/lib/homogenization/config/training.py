"""The part of the configuration on training: models tuned further or trained from random weights, seed by seed."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from homogenization.config.weights import TrainedWeights, one_of_sources
from homogenization.models.source import Source, built_in
from homogenization.models.weights import SOURCES, NetworkFields, Positions, RandomWeights
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


class _Training(Section):
    """How a model is trained: the next token, AdamW, a warmup and a linear decay to 0."""

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


class Tuning(_Training):
    """Further training of a causal language model."""

    of: TrainedWeights
    """Weights to start from."""
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


class FromRandom(_Training):
    """Training from random weights, with a tokenizer trained on the corpus."""

    architecture: NetworkFields
    """Fields of a transformers configuration, `model_type` among them, as under `random`."""
    positions: Positions = "own"
    """`own`: positions as the architecture has them; `none`: no positions, in architectures with `no_rope_layers`, \
such as smollm3, and in those with learned positions, such as gpt2."""
    vocab_size: int = Field(2000, ge=300)
    """Vocabulary of the tokenizer."""


class _Trained(Source):
    """An entry that stands for several models, one for each seed.

    Attributes:
        key: the key that tells this source, which holds how the models are trained.
    """

    key: ClassVar[str]

    seeds: list[Annotated[int, Field(ge=0)]] = Field([0], min_length=1)
    """Seeds: replicates, each a model named NAME-SEED."""

    _seeds = field_validator("seeds")(
        refused(lambda seeds: seeds != sorted(set(seeds)), "{} is no ascending list of different numbers")
    )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The key that tells this source."""
        return (cls.key,)

    @property
    def options(self) -> Any:
        """How the models of this entry are trained."""
        return getattr(self, self.key)

    @property
    def seed(self) -> int:
        """Seed of one model."""
        return self.seeds[0]

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for one model."""
        return built_in(f"{results}/training/{model}")

    def start_files(self, results: str, model: str = "") -> list[str]:
        """The files that training starts from."""
        return self.start.files(results, model)


class TunedWeights(_Trained):
    """Weights that the workflow trains further."""

    key = "tuned"
    tuned: Tuning
    """Further training on reviews that are not in the sample."""

    @property
    def start(self) -> Source:
        """The weights that are trained further."""
        return self.tuned.of


class ScratchWeights(_Trained):
    """Weights that the workflow trains from random ones."""

    key = "trained"
    trained: FromRandom
    """Training from random weights, on reviews that are not in the sample."""

    @property
    def start(self) -> RandomWeights:
        """The random weights: those of one seed differ in positions alone if all else is equal."""
        options = self.trained
        return RandomWeights(
            random=options.architecture, seed=self.seed, vocab_size=options.vocab_size, positions=options.positions
        )


MODEL_SOURCES = (*SOURCES, TunedWeights, ScratchWeights)
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
    return isinstance(model.weights, _Trained)
