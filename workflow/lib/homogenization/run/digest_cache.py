"""SHA-256 of large files that many jobs read: a file is hashed again when it has changed, and not in every job."""

import time
from pathlib import Path

from homogenization.run.files import sha256_of
from homogenization.run.user_cache import noted

_SETTLED = 2.0  # seconds after which a further change has another date, on any file system


def sha256_once(path: str | Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits, from the note of an earlier call if the file is still the same.

    A note is one of path, size, inode and dates. Only the system sets the date of change, so a file of the same size
    and with its old date of modification does not pass for the one that was hashed. A file that has just been written
    to is hashed in each call.
    """
    real = Path(path).resolve()
    before = _state(real)
    if time.time() - max(before[-2:]) / 1e9 <= _SETTLED:
        return sha256_of(real)
    # nobody wrote to it meanwhile
    return noted("digests", repr(before).encode(), lambda: sha256_of(real), lambda: _state(real) == before)


def _state(path: Path) -> tuple[str, int, int, int, int]:
    """What tells the file at `path` from another one there, and from itself before a change."""
    found = path.stat()
    return str(path), found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns
