"""Files that are read are regular files, and known by their SHA-256: of large ones, it is noted until they change.

A named pipe would wait for a writer, and a device may never end.
"""

import errno
import hashlib
import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

from homogenization.run.user_cache import noted

_SETTLED = 2.0  # seconds after which a further change has another date, on any file system

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file to read its bytes; anything else is refused at once.

    Raises:
        OSError: it can't be opened, or is a folder, pipe, socket or device, which `strerror` says.
    """
    # without O_NONBLOCK, opening a pipe waits for its writer; for a regular file it means nothing
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"{_KINDS.get(kind, 'something else')}, and not a file", str(path))
    return os.fdopen(descriptor, "rb")


def kind_of_special(path: str | Path) -> str | None:
    """`a named pipe`, `a socket` or `a device`; None for a file or folder, and for what is not there."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        return None
    return None if kind == stat.S_IFDIR else _KINDS.get(kind)


def sha256_of(path: str | Path) -> str:
    """SHA-256 of a file, as 64 hexadecimal digits."""
    with open_regular(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_once(path: str | Path) -> str:
    """SHA-256 of a large file that many jobs read, from the note of an earlier call if the file is still the same.

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
