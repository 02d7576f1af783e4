"""The part of the configuration on models that read: their weights, and the stored states."""

import importlib.util
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, field_validator

from homogenization.config.base import ExpandedPath, Option, Section, without_nulls
from homogenization.models.dtypes import Dtype

BUILT_FILES = {  # files of a model that the workflow builds
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
    "digests": "weights.sha256",
}

Device = Literal["auto", "cpu", "cuda", "mps"]


class Source(Option):
    """Where weights and tokenizer come from. The first key of a source tells it from the others.

    To add a source, add a class here, an entry in `SOURCES`, and a resolver in `homogenization.models.weights`.
    """

    told_by: ClassVar[str] = ""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The first key."""
        return (next(iter(cls.model_fields)),)

    def files(self, built: str) -> list[str]:
        """Files that jobs depend on: those in the folder `built` of a model that the workflow builds, or local ones.

        A package and the hub's cache are not tracked.
        """
        return []


class HubWeights(Source):
    """A model on the Hugging Face hub."""

    hub: str = Field(description="Model id on the Hugging Face hub. Pin it with `revision`.")
    revision: str | None = Field(None, description="Commit, tag or branch on the hub; a commit makes it reproducible.")


class PathWeights(Source):
    """A folder on this machine."""

    path: ExpandedPath = Field(description="Folder with `config.json`, `*.safetensors` and the tokenizer.")

    @field_validator("path")
    @classmethod
    def holds_a_model(cls, path: str) -> str:
        """The folder holds a model that can be loaded safely."""
        folder = Path(path)
        if not folder.is_dir():
            raise ValueError(f"the folder {path!r} does not exist; relative paths start at the working directory")
        if not (folder / "config.json").is_file():
            raise ValueError(f"{path!r} has no config.json, so it is no model folder in the Hugging Face format")
        if not any(folder.glob("*.safetensors")):
            raise ValueError(
                f"{path!r} has no *.safetensors file; other weight formats can run code when they are loaded and are "
                "refused. Save the model again with save_pretrained(), which writes safetensors"
            )
        return path

    def files(self, built: str) -> list[str]:
        """The files of the folder that the model is loaded from."""
        patterns = ("config.json", "*.safetensors", "tokenizer*")
        return sorted(str(file) for pattern in patterns for file in Path(self.path).glob(pattern))


class PackageWeights(Source):
    """A folder inside an installed Python package."""

    package: str = Field(description="Installed Python package that carries the model's folder.")
    folder: str = Field("model", description="The model's folder inside the package.")

    @field_validator("package")
    @classmethod
    def is_installed(cls, package: str) -> str:
        """Python finds the package."""
        if importlib.util.find_spec(package.partition(".")[0]) is None:
            raise ValueError(f"the Python package {package!r} is not installed; install it or use 'path'")
        return package


class RandomWeights(Source):
    """An untrained control, which the workflow builds."""

    random: dict[str, Any] = Field(
        description="Untrained control: the fields of a transformers configuration, `model_type` among them. The "
        "weights are drawn with `seed`; a byte-level BPE tokenizer is trained on the corpus."
    )
    seed: int = Field(0, ge=0, description="Seed of the random weights.")
    vocab_size: int = Field(2000, ge=300, description="Vocabulary of the tokenizer trained for random weights.")

    @field_validator("random")
    @classmethod
    def names_an_architecture(cls, random: dict[str, Any]) -> dict[str, Any]:
        """The fields name an architecture."""
        if "model_type" not in random:
            raise ValueError("'random' needs 'model_type', for example llama, qwen2, gpt2")
        return random

    def files(self, built: str) -> list[str]:
        """The files that the workflow builds."""
        return [f"{built}/{file}" for file in BUILT_FILES.values()]


SOURCES = (HubWeights, PathWeights, PackageWeights, RandomWeights)
_SOURCE_NAMES = tuple(name for source in SOURCES for name in source.names())


def _one_source(given: Any) -> Any:
    """`given` without empty keys, after a check that it names exactly one source."""
    named = [name for name in _SOURCE_NAMES if _names(without_nulls(given), name)]
    if len(named) != 1:
        raise ValueError(f"name exactly one of {', '.join(_SOURCE_NAMES)}; found {named or repr(given)}")
    return without_nulls(given)


def _names(given: Any, source: str) -> bool:
    return source in given if isinstance(given, dict) else hasattr(given, source)


def _trained(weights: Source) -> Source:
    if isinstance(weights, RandomWeights):
        raise ValueError("random weights have learnt nothing; give those of a trained model: hub, path or package")
    return weights


Weights = Annotated[
    Union[tuple(Annotated[source, Tag(name)] for source, name in zip(SOURCES, _SOURCE_NAMES, strict=True))],  # noqa: UP007
    Discriminator(lambda given: next(name for name in _SOURCE_NAMES if _names(given, name))),
    BeforeValidator(_one_source),
]
TrainedWeights = Annotated[Weights, AfterValidator(_trained)]


class Model(Section):
    """Weights, and how they are run."""

    weights: Weights = Field(description="Where the weights come from.")
    dtype: Dtype = Field("float32", description="Precision of the forward pass.")
    device: Device = Field("auto", description="`auto`: CUDA, then MPS, then CPU.")
    bos: Literal["default", "always", "never"] = Field(
        "default", description="First token: what the tokenizer does, always one BOS token, or never one."
    )
    max_tokens: int | None = Field(
        None, ge=2, description="Longer reviews are cut there, and the cut recorded; null: the model's context."
    )
    token_budget: int = Field(
        2048, ge=1, description="Most tokens per pass; whole reviews are packed up to it. Halves when memory runs out."
    )
    gpus: int = Field(
        1, ge=1, exclude=True, description="GPUs of a job; the blocks are spread over them. Nothing reruns."
    )
    billions: float | None = Field(
        None,
        gt=0,
        exclude=True,
        description="Billions of parameters, for a job's request of memory and time; null: from the weights' "
        "files or the hub id (`8B`). Nothing reruns.",
    )


class States(Section):
    """The stored states of a forward pass."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = Field(
        "auto", description="Storage type of the states; `auto`: the model's own."
    )
    chunk_tokens: int = Field(4096, ge=1, description="Tokens in a chunk of a layer's array.")
    record_attention: bool = Field(True, description="Sum the attention that each token receives, in every layer.")
    layers: list[int] | None = Field(
        None,
        min_length=2,
        description="Layers of the residual stream to store, 0 before the first block; negative ones count from the "
        "last; null: all.",
    )
    keep: bool = Field(
        True, description="false: the states of a job are deleted as soon as every metric has read them."
    )
    sample_tokens: int | None = Field(
        None, ge=1, description="Tokens of each review whose states are kept under `samples/` in any case; null: none."
    )

    @field_validator("layers")
    @classmethod
    def layers_once(cls, layers: list[int] | None) -> list[int] | None:
        """No layer stands twice."""
        if layers is not None and len(set(layers)) < len(layers):
            raise ValueError(f"{layers} names a layer twice; name each once")
        return layers
