"""SHA-256 of large files that many jobs read: a file is hashed again when it has changed, and not in every job.

A note in the user's cache holds size, inode and dates of the file that was hashed. Only the system sets the date of
change, so a file of the same size and with its old date of modification does not pass for the one that was hashed.
"""

import json
import re
import time
from hashlib import blake2b
from pathlib import Path

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import sha256_of, write_json
from homogenization.run.user_cache import user_cache

_SETTLED = 2.0  # seconds after which a further change has another date, on any file system
_DIGEST = re.compile(r"[0-9a-f]{64}")


def sha256_once(path: str | Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits, from the note of an earlier call if the file is still the same.

    Where no note can be written, the file is hashed in each call.
    """
    real = Path(path).resolve()
    note, state = _note_of(real), _state(real)
    if note is not None and (known := _noted(note, state)) is not None:
        return known
    began = time.time()
    digest = sha256_of(real)
    if note is not None and began - max(state["modified_ns"], state["changed_ns"]) / 1e9 > _SETTLED:
        _keep(note, state, digest, real)
    return digest


def _state(path: Path) -> dict[str, str | int]:
    """What tells the file at `path` from another one there, and from itself before a change."""
    found = path.stat()
    return {
        "path": str(path),
        "size": found.st_size,
        "inode": found.st_ino,
        "modified_ns": found.st_mtime_ns,
        "changed_ns": found.st_ctime_ns,
    }


def _note_of(path: Path) -> Path | None:
    """The note of the file at `path`, which may not be there; None for a user without a home."""
    name = blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return folder / "digests" / f"{name}.json" if (folder := user_cache()) else None


def _noted(note: Path, state: dict[str, str | int]) -> str | None:
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
        digest = content.pop("sha256")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return digest if content == state and _DIGEST.fullmatch(str(digest)) else None


def _keep(note: Path, state: dict[str, str | int], digest: str, path: Path) -> None:
    try:
        if _state(path) == state:  # nobody wrote to it meanwhile
            write_json({**state, "sha256": digest}, note, shared=True)
    except (OSError, HomogenizationError, ValueError):
        return  # no place for it: the next job hashes the file
