"""Files of the workflow: they are written whole, and an error names those that are damaged or gone.

"Whole" means that a file is written beside its final name and then renamed: a reader never finds a partial file.
"""

import errno
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.run.storage import object_of

_SHARED_MEMORY = Path("/dev/shm")  # holds semaphores of processes
_RANDOM = "[a-z0-9_]" * 8  # what tempfile adds to a prefix


@contextmanager
def written_whole(path: str | Path, shared: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to; rename it to `path` on success, remove it on any failure.

    Args:
        path: final path; missing folders are created.
        shared: whether several processes may write this file at once; the last one wins. If False, the path has one
            writer, and the remains of earlier attempts are removed.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    path = Path(path)
    with written_together(path.parent, [path.name], shared) as partial:
        yield partial / path.name


@contextmanager
def written_together(folder: str | Path, names: Sequence[str], shared: bool = False) -> Iterator[Path]:
    """Yield a hidden folder in `folder` for the files `names`; on success, move all of them to `folder`.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hidden = f".{names[0]}."
    if not shared:
        # an earlier writer that still runs fails, as its folder is gone; it can't rename the files of another writer
        for earlier in folder.glob(glob.escape(hidden) + _RANDOM):
            shutil.rmtree(earlier, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=hidden, ignore_cleanup_errors=True) as partial,
        full_disk_named(folder / ", ".join(names), folder),
    ):
        yield Path(partial)
        for name in names:
            with open(Path(partial) / name, "rb+") as handle:
                os.fsync(handle.fileno())
        for name in names:
            os.replace(Path(partial) / name, folder / name)


@contextmanager
def full_disk_named(what: object, folder: Path) -> Iterator[None]:
    """Within, an error of a full disk or quota is told as one, for work whose partial files the caller removes.

    Args:
        what: what was to be written, in words.
        folder: folder on the file system that is full.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    try:
        yield
    except Exception as error:
        if is_disk_full(error):
            raise HomogenizationError(
                f"{what}: the disk is full; nothing was left behind. {more_room(folder)}"
            ) from error
        raise


def more_room(*folders: Path) -> str:
    """What to do where a file system is full: `folders`, or that of temporary files or of shared memory."""
    temporary = Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    free = {path: shutil.disk_usage(path).free for path in (*folders, temporary, _SHARED_MEMORY) if path.is_dir()}
    told = ", ".join(f"{n_bytes / 1e6:,.0f} MB in {path}" for path, n_bytes in free.items())
    return (
        f"Now are free: {told}. Free some space where there is none, or name another folder for temporary files "
        f"(export TMPDIR=…); {_SHARED_MEMORY} of a container grows with --shm-size. Then run the same command again."
    )


def is_disk_full(error: BaseException) -> bool:
    """Whether `error` is, or wraps, the operating system's error that no space or quota is left."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    # polars and zipfile turn the errno into text
    return "No space left on device" in str(error)


def write_text(text: str, path: str | Path) -> None:
    """Write `text` as UTF-8, whole."""
    with written_whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(value: Any, path: str | Path) -> None:
    """Write `value` as JSON with sorted keys, whole."""
    write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", path)


def write_csv(table: pl.DataFrame, path: str | Path) -> None:
    """Write `table` as CSV, whole."""
    with written_whole(path) as partial:
        table.write_csv(partial)


def read_json(path: str | Path) -> Any:
    """Read a JSON file that this workflow made.

    Raises:
        HomogenizationError: the file is gone, or it is damaged or cut short and was moved aside.
    """
    try:
        return json.loads(read_bytes(path))
    except ValueError as error:
        raise damage(path, f"not readable as JSON: {error}") from error


def read_csv(path: str | Path, schema: dict[str, Any]) -> pl.DataFrame:
    """Read the columns of `schema` from a CSV table that this workflow made.

    Raises:
        HomogenizationError: the file is gone, or it is damaged, cut short or lacks a column and was moved aside.
    """
    content = read_bytes(path)
    try:
        return pl.read_csv(content, columns=list(schema), schema_overrides=schema).select(list(schema))
    except pl.exceptions.PolarsError as error:
        raise damage(path, f"not a readable CSV table of {', '.join(schema)}: {error}") from error


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file that this workflow made.

    Raises:
        HomogenizationError: the file is gone, or `path` is a folder, which was moved aside.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise gone(path) from error
    except IsADirectoryError as error:
        raise damage(path, "a folder and not a file") from error


def move_aside(path: str | Path) -> Path:
    """Rename the damaged file at `path` to `{name}.damaged`, with a number if that exists; the next run makes it again.

    If `path` is a link into Snakemake's between-workflow cache, the cached file is renamed and the link removed;
    otherwise the next run would fetch the same file again.

    Returns:
        The new path of the damaged file.

    Raises:
        FileNotFoundError: there is no such file; another job may have moved it aside already.
        OSError: the file can't be renamed.
    """
    path = Path(path)
    damaged = path.resolve() if path.is_symlink() else path
    aside = damaged.with_name(f"{damaged.name}.damaged")
    number = 1
    while aside.exists():
        number += 1
        aside = damaged.with_name(f"{damaged.name}.damaged-{number}")
    damaged.rename(aside)
    if path.is_symlink():
        path.unlink()
    return aside


def damage(
    path: str | Path, reason: object, what: str = "damaged or cut short", again: str = "makes it anew"
) -> HomogenizationError:
    """Move aside a damaged file that the workflow makes or fetches, and return the error for the caller to raise.

    Of a file in a storage, a job has a copy: its error names the object, which nothing else takes away.
    """
    if copied := object_of(path):
        return HomogenizationError(
            f"{path}: {what} ({reason}). It is a copy of {copied}. Delete this object in the storage and run the same "
            f"command again, which {again}."
        )
    try:
        remedy = f"It was moved to {move_aside(path)}. Run the same command again, which {again}."
    except FileNotFoundError:
        remedy = f"Another job has moved it aside. Run the same command again, which {again}."
    except OSError as error:
        remedy = (
            f"It could not be moved aside ({error.strerror}). "
            f"Delete {Path(path).resolve()} and run the same command again."
        )
    return HomogenizationError(f"{path}: {what} ({reason}). {remedy}")


def gone(path: str | Path) -> HomogenizationError:
    """The error for a file that the workflow makes and that is no longer there."""
    return HomogenizationError(
        f"{path}: gone. It was deleted during the run, or another job found it damaged and moved it aside. "
        "Run the same command again, which makes it anew."
    )
