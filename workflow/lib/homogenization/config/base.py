"""The configuration's groundwork: strict sections, paths with variables, and where weights come from."""

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

BUILT_FILES = {  # of a model that the workflow builds
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
    "digests": "weights.sha256",
}
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


def expanded(value: str) -> str:
    """`value` with ~ and $VARIABLES replaced, so that one configuration serves several machines."""
    result = os.path.expandvars(os.path.expanduser(value))
    unset = re.search(r"\$\{?(\w+)", result)
    if unset:
        raise ValueError(f"{value!r}: the environment variable {unset[1]!r} is not set; set it or write the path out")
    return result


ExpandedPath = Annotated[str, AfterValidator(expanded)]
Name = Annotated[str, Field(pattern=NAME)]


def whole_numbers_count(value: Any) -> Any:
    """Let 0 and 1 stand for 0.0 and 1.0, which a strict number does not."""
    return float(value) if type(value) is int else value


class Section(BaseModel):
    """A mapping of the configuration; unknown keys are refused, values are not coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def params(self, *keys: str) -> dict[str, Any]:
        """Sorted JSON values, which a rule's `params` can track; all keys that have an effect, or `keys` of them."""
        dumped = self.model_dump(mode="json", include=set(keys) or None, exclude=self.without_effect())
        return json.loads(json.dumps(dumped, sort_keys=True))

    def without_effect(self) -> set[str]:
        """Keys that change no result here, only how it is come by; they go into no parameters and rerun nothing."""
        return set()


class Weights(Section):
    """Where weights and tokenizer come from: exactly one of `hub`, `path`, `package`, `random`."""

    hub: str | None = Field(None, description="Model id on the Hugging Face hub. Pin it with `revision`.")
    revision: str | None = Field(None, description="Commit, tag or branch on the hub; a commit makes it reproducible.")
    path: ExpandedPath | None = Field(None, description="Folder with `config.json`, `*.safetensors` and the tokenizer.")
    package: str | None = Field(None, description="Installed Python package that carries the model's folder.")
    folder: str = Field("model", description="The model's folder inside `package`.")
    random: dict[str, Any] | None = Field(
        None,
        description="Untrained control: the fields of a transformers configuration, `model_type` among them. The "
        "weights are drawn with `seed`; a byte-level BPE tokenizer is trained on the corpus.",
    )
    seed: int = Field(0, ge=0, description="Seed of the random weights.")
    vocab_size: int = Field(2000, ge=300, description="Vocabulary of the tokenizer trained for random weights.")

    def files(self, built: str) -> list[str]:
        """The files that jobs depend on: those in `built` of a model that the workflow builds, those of a local folder.

        A package, or the hub's cache, is not tracked.
        """
        if self.random is not None:
            return [f"{built}/{file}" for file in BUILT_FILES.values()]
        if self.path is not None:
            patterns = ("config.json", "*.safetensors", "tokenizer*")
            return sorted(str(file) for pattern in patterns for file in Path(self.path).glob(pattern))
        return []

    @model_validator(mode="after")
    def exactly_one_source(self) -> "Weights":
        """Check that one source is named and, where it lies on this machine, that it is whole."""
        named = [source for source in ("hub", "path", "package", "random") if getattr(self, source) is not None]
        if len(named) != 1:
            raise ValueError(f"name exactly one of hub, path, package, random; found {named or 'none'}")
        if self.revision is not None and self.hub is None:
            raise ValueError("'revision' goes with 'hub' alone")
        if self.path is not None:
            check_model_folder(Path(self.path))
        if self.package is not None and importlib.util.find_spec(self.package.partition(".")[0]) is None:
            raise ValueError(f"the Python package {self.package!r} is not installed; install it or use 'path'")
        if self.random is not None and "model_type" not in self.random:
            raise ValueError("'random' needs 'model_type', for example llama, qwen2, gpt2")
        return self


def check_model_folder(folder: Path) -> None:
    """Raise ValueError where `folder` holds no model that can be loaded safely."""
    if not folder.is_dir():
        raise ValueError(f"the folder {str(folder)!r} does not exist; relative paths start at the working directory")
    if not (folder / "config.json").is_file():
        raise ValueError(f"{str(folder)!r} has no config.json, so it is no model folder in the Hugging Face format")
    if not any(folder.glob("*.safetensors")):
        raise ValueError(
            f"{str(folder)!r} has no *.safetensors file; other weight formats can run code when they are loaded and "
            "are refused. Save the model again with save_pretrained(), which writes safetensors"
        )
