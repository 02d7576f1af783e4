"""Files that are read are regular files: a named pipe waits for a writer, and a device may never end."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

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
