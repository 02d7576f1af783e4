"""Checks that a model's files are intact.

A safetensors file has no checksum, so loading it does not reveal a flipped bit. Each file is therefore hashed before it
is first read, and again after a change (`run.regular_files`), and compared with its known digest: the hub's cache names
each large file by its SHA-256, a model that the workflow built has a list of digests beside it, and any local folder
may have such a list.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from homogenization.models.built import BUILT_FILES
from homogenization.models.source import ResolvedWeights
from homogenization.models.weights import HUB_FILES, BuiltWeights, resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import damage
from homogenization.run.regular_files import sha256_once

DIGESTS_FILE = BUILT_FILES["digests"]  # in the format of sha256sum
_DIGESTS_FILES = (DIGESTS_FILE, "SHA256SUMS")
_DIGEST_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)")


def list_digests(folder: str | Path, names: Iterable[str]) -> None:
    """Write the SHA-256 of files in `folder` to `DIGESTS_FILE` there."""
    digests = _sha256(Path(folder) / name for name in names)
    lines = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    (Path(folder) / DIGESTS_FILE).write_text(lines, encoding="utf-8")


def combined_digest(digests: Mapping[str, str]) -> str:
    """One SHA-256 for several files (64 hexadecimal digits): the hash of the lines "name digest", sorted by name."""
    lines = "".join(f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


def verified_weights(weights: Mapping[str, Any]) -> ResolvedWeights:
    """The local folder of a `weights` entry, once its files are compared with their known digests.

    Raises:
        HomogenizationError: as `resolve_weights` and `verified_digests` do.
    """
    resolved = resolve_weights(weights)
    return replace(resolved, digests=verified_digests(resolved))


def verified_digests(weights: ResolvedWeights) -> dict[str, str]:
    """Compare a model's files with their known digests.

    Returns:
        SHA-256 of each *.safetensors, as 64 hexadecimal digits by file name, sorted by name.

    Raises:
        HomogenizationError: a file differs from its digest (it is moved aside if the workflow built it or the hub has
            it), a file that the workflow built is gone (another job may have moved it aside), or the list of digests
            is wrong.
    """
    folder = weights.folder
    known = _known_digests(weights)
    read = {path.name for pattern in HUB_FILES for path in folder.glob(pattern) if path.is_file()}
    checked = read & known.keys()
    found = _sha256(sorted({*folder.glob("*.safetensors"), *(folder / name for name in checked)}))
    for name in sorted(checked):
        if found[name] != known[name]:
            raise weights.source.damaged(folder / name, f"its SHA-256 is {found[name]}, and should be {known[name]}")
    return {name: digest for name, digest in found.items() if name.endswith(".safetensors")}


def _sha256(files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 by file name; threads hash several files at once."""
    files = list(files)
    with ThreadPoolExecutor() as threads:
        return dict(zip((path.name for path in files), threads.map(sha256_once, files), strict=True))


def _known_digests(weights: ResolvedWeights) -> dict[str, str]:
    """Known SHA-256 by file name: those that the source knows, or from a list of digests in the folder.

    Raises:
        HomogenizationError: the list is missing for a model that the workflow built, or it is wrong.
    """
    folder, source = weights.folder, weights.source
    if (known := source.known_digests(folder)) is not None:
        return known
    listed = next((folder / name for name in _DIGESTS_FILES if (folder / name).is_file()), None)
    if listed is None and isinstance(source, BuiltWeights):
        raise damage(folder / DIGESTS_FILE, "gone")
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
    if absent and isinstance(source, BuiltWeights):
        raise _bad_list(weights, listed, f"{', '.join(absent)} is listed and not there")
    return known


def _bad_list(weights: ResolvedWeights, listed: Path, reason: str) -> HomogenizationError:
    if isinstance(weights.source, BuiltWeights):
        return weights.source.damaged(listed, reason)
    return HomogenizationError(
        f"{listed}: {reason}. Write it again with `sha256sum *.safetensors > {listed.name}` where the files are known "
        "to be whole, or delete it."
    )
