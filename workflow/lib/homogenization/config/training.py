"""The part of the configuration on training: models tuned further or trained from random weights, seed by seed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from homogenization.config.weights import TrainedWeights, one_of_sources
from homogenization.models.source import Source, built_in
from homogenization.models.weights import SOURCES, NetworkFields, Positions, RandomWeights
from homogenization.run.errors import nearest
from homogenization.run.sections import Section, pairs_of, refused

Step = Annotated[int, Field(ge=0)]
Layer = Annotated[int, Field(ge=1)]


class Penalty(Section):
    """A term of the loss by which tokens grow more alike or less while the model learns."""

    metric: Literal["cosine", "centred_effective_rank"]
    """`cosine`: mean cosine of token pairs; `centred_effective_rank`: normalised effective rank of the centred \
tokens. The first token is left out of both."""
    strength: float
    """Nats for a metric of 1, with the sign of homogenization: above 0, the model is drawn to diverse tokens, below 0 \
to tokens that are alike."""
    layers: list[Layer] | Literal["steepest"] = "steepest"
    """Layers of the residual stream, 1 after the first block; the metric is averaged over them. `steepest`: where the \
mean cosine grows fastest before training."""

    _strength = field_validator("strength")(
        refused(lambda strength: strength == 0, "0 does nothing; leave 'penalty' out")
    )

    @field_validator("layers", mode="before")
    @classmethod
    def ascending_layers(cls, layers: Any) -> Any:
        """At least one layer, each once, ascending; or the one name that there is."""
        numbers = isinstance(layers, list) and all(type(layer) is int and layer > 0 for layer in layers)
        if layers != "steepest" and not (numbers and layers and layers == sorted(set(layers))):
            raise ValueError(
                f"{layers!r} is neither 'steepest' nor an ascending list of different layers, from 1, the first block"
            )
        return layers


class Lora(Section):
    """Low-rank updates of the linear layers of the blocks in place of all weights; they are merged when saved."""

    rank: int = Field(8, ge=1)
    """Rank of each update."""
    alpha: int = Field(16, ge=1)
    """Updates are multiplied by alpha / rank."""


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
    warmup: float = Field(0.1, ge=0, lt=1)
    """Share of the steps in which the learning rate grows from 0."""
    weight_decay: float = Field(0.01, ge=0)
    """Decay of matrices; vectors have none."""
    clip: float = Field(1.0, gt=0)
    """Largest norm of the gradient."""
    penalty: Penalty | None = None
    """Penalty on tokens that are alike; null: none."""
    held_out: int = Field(100, ge=2)
    """Reviews that no seed is trained on and whose loss is measured, the same for all seeds."""
    threads: int = Field(1, ge=1)
    """Threads on a CPU. Another number rounds differently."""


class Tuning(_Training):
    """Further training of a causal language model."""

    of: TrainedWeights
    """Weights to start from."""
    lora: Lora | None = None
    """Low-rank updates; null: all weights are trained."""
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


class _Arm(Source):
    """An entry that stands for several models: one for each seed and snapshot.

    Attributes:
        key: the key that tells this source, which holds how the models are trained.
    """

    key: ClassVar[str]

    seeds: list[Step] = Field([0], min_length=1)
    """Seeds: replicates, each a model named NAME-SEED."""
    snapshots: list[Step] | None = Field(None, min_length=1)
    """Steps after which a model is kept, named NAME-SEED-stepSTEP, 0 for the start; null: the last."""
    _arm: str = PrivateAttr("")
    _snapshot_steps: tuple[int, ...] = PrivateAttr(())
    _read_as: dict[str, Any] = PrivateAttr({})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The key that tells this source."""
        return (cls.key,)

    @property
    def options(self) -> Any:
        """How the models of this arm are trained."""
        return getattr(self, self.key)

    @model_validator(mode="after")
    def snapshots_within_the_run(self) -> "_Arm":
        """Seeds and snapshots are ascending, and no snapshot is after the end."""
        for key, values in (("seeds", self.seeds), ("snapshots", self.snapshots or [])):
            if values != sorted(set(values)):
                raise ValueError(f"{key}: {values} is no ascending list of different numbers")
        beyond = [step for step in self.snapshots or () if step > self.options.steps]
        if beyond:
            raise ValueError(f"snapshots: {beyond} are beyond the {self.options.steps} steps; raise 'steps'")
        return self

    @property
    def arm(self) -> str:
        """Name of the entry that this model belongs to."""
        return self._arm

    @property
    def seed(self) -> int:
        """Seed of one model."""
        return self.seeds[0]

    @property
    def step(self) -> int:
        """Step after which one model was kept."""
        return (self.snapshots or [self.options.steps])[0]

    @property
    def snapshot_steps(self) -> tuple[int, ...]:
        """Steps at which the run of one model keeps models."""
        return self._snapshot_steps

    @cached_property
    def run(self) -> str:
        """Name of the training run of one model: equal entries share it, whatever their snapshots."""
        content = json.dumps([self.params(self.key), self.seed, self._read_as], sort_keys=True)
        return f"{self.key}-{blake2b(content.encode(), digest_size=6).hexdigest()}"

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for one model."""
        return built_in(f"{results}/training/{self.run}/{self.step}")

    def start_files(self, results: str, model: str = "") -> list[str]:
        """The files that training starts from."""
        return self.start.files(results, self.run)

    def single(self, arm: str, seed: int, step: int, read_as: dict[str, Any]) -> "_Arm":
        """The weights of one model of the entry `arm`; `read_as` are other keys of the entry that training reads."""
        one = self.model_copy(update={"seeds": [seed], "snapshots": [step]})
        one._arm, one._read_as = arm, read_as
        one._snapshot_steps = tuple(self.snapshots or [self.options.steps])
        return one


class TunedWeights(_Arm):
    """Weights that the workflow trains further."""

    key = "tuned"
    tuned: Tuning
    """Further training on reviews that are not in the sample."""

    @property
    def start(self) -> Source:
        """The weights that are trained further."""
        return self.tuned.of


class ScratchWeights(_Arm):
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


@dataclass(frozen=True)
class Run:
    """A training run: one entry and seed, whose snapshots are models.

    Attributes:
        name: the model that is its last snapshot.
        model: the entry of this model.
        snapshot_steps: steps after which models are kept, ascending.
    """

    name: str
    model: Any
    snapshot_steps: tuple[int, ...]

    def states_before(self, step: str, results: str) -> list[str]:
        """The files of the state that training to `step` goes on from: of the snapshot before it, none at the start."""
        earlier = [number for number in self.snapshot_steps if number < int(step)]
        folder = f"{results}/training/{self.model.weights.run}/{max(earlier, default=0)}/state"
        return [f"{folder}/{file}" for file in ("tensors.safetensors", "notes.json")] if earlier else []


def single_models(models: Mapping[str, Any]) -> dict[str, Any]:
    """`models` with each arm replaced by its models, one for each seed and snapshot.

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
    arm = model.weights
    if not isinstance(arm, _Arm) or arm.arm:
        return [(name, model)]
    return [
        (
            f"{name}-{seed}" + (f"-step{step}" if arm.snapshots else ""),
            model.model_copy(update={"weights": arm.single(name, seed, step, model.params("bos", "device"))}),
        )
        for seed in arm.seeds
        for step in arm.snapshots or [arm.options.steps]
    ]


def runs_of(models: Mapping[str, Any]) -> dict[str, Run]:
    """The training runs of single models, by name."""
    trained = {name: model for name, model in models.items() if isinstance(model.weights, _Arm)}
    steps: dict[str, set[int]] = {}
    for model in trained.values():
        steps.setdefault(model.weights.run, set()).update(model.weights.snapshot_steps)
    runs: dict[str, Run] = {}
    for name, model in trained.items():
        run = model.weights.run
        if model.weights.step == max(steps[run]):
            runs.setdefault(run, Run(name, model, tuple(sorted(steps[run]))))
    return runs


def arms_of(models: Mapping[str, Any]) -> list[list[Any]]:
    """[model, arm, seed, step] of every single model that is trained, sorted; each arm's models belong together."""
    trained = [(name, model.weights) for name, model in models.items() if isinstance(model.weights, _Arm)]
    return sorted([name, weights.arm, weights.seed, weights.step] for name, weights in trained)


def check_pairs(pairs: Sequence[Sequence[str]], models: Mapping[str, Any]) -> None:
    """Every pair names two different arms, or an arm and a model without seeds, and stands once.

    Raises:
        ValueError: a pair is something else.
    """
    steps: dict[str, set[tuple[int, int]]] = {}
    for _, arm, seed, step in arms_of(models):
        steps.setdefault(arm, set()).add((seed, step))
    others = [name for name, model in models.items() if not isinstance(model.weights, _Arm)]
    pairs_of("arm")(pairs)
    for pair in pairs:
        for name, allowed in zip(pair, (list(steps), [*steps, *others]), strict=True):
            if name not in allowed:
                there = ", ".join(allowed) or "none; 'weights: {tuned: …}' and '{trained: …}' make arms"
                raise ValueError(f"no arm is called {name!r}{nearest(name, allowed)}; allowed: {there}")
        if pair[1] in steps and not steps[pair[0]] & steps[pair[1]]:
            raise ValueError(f"{list(pair)} share no seed and step; give both the same 'seeds' and 'snapshots'")
