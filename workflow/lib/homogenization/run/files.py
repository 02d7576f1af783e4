"""Files of the workflow: written whole, named when they are damaged or gone.

A file is written beside its final name and then renamed, so that nobody finds half of one.
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

_RANDOM = "[a-z0-9_]" * 8  # what tempfile adds to a prefix


@contextmanager
def written_whole(path: str | Path, shared: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to; rename it to `path` on success, remove it on any failure.

    Args:
        path: final name; its folder is made where it is missing.
        shared: several processes may write this file at a time, the last one wins. Otherwise the path has one writer,
            and what an earlier attempt left behind is removed.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    path = Path(path)
    with written_together(path.parent, [path.name], shared) as partial:
        yield partial / path.name


@contextmanager
def written_together(folder: str | Path, names: Sequence[str], shared: bool = False) -> Iterator[Path]:
    """Yield a hidden folder in `folder` to write the files `names` to; when all are written, each takes its place.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hidden = f".{names[0]}."
    if not shared:
        # a writer that was thought dead fails when it finds its folder gone; it never renames what another one writes
        for earlier in folder.glob(glob.escape(hidden) + _RANDOM):
            shutil.rmtree(earlier, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=hidden, ignore_cleanup_errors=True) as partial:
        try:
            yield Path(partial)
            for name in names:
                with open(Path(partial) / name, "rb+") as handle:
                    os.fsync(handle.fileno())
            for name in names:
                os.replace(Path(partial) / name, folder / name)
        except Exception as error:
            if _is_disk_full(error):
                raise HomogenizationError(
                    f"{folder / ', '.join(names)}: the disk is full; nothing was left behind. "
                    f"Free some space on the file system of {folder} and run the same command again."
                ) from error
            raise


def _is_disk_full(error: BaseException) -> bool:
    """Whether `error` is, or wraps, the operating system's word that no space is left."""
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
        HomogenizationError: the file is damaged or cut short, and was moved aside; or it is gone.
    """
    try:
        return json.loads(read_bytes(path))
    except ValueError as error:
        raise damage(path, f"not readable as JSON: {error}") from error


def read_csv(path: str | Path, schema: dict[str, Any], **options: Any) -> pl.DataFrame:
    """Read the columns `schema` of a CSV table that this workflow made; `options` are those of `polars.read_csv`.

    Raises:
        HomogenizationError: the file is damaged, cut short or lacks a column, and was moved aside; or it is gone.
    """
    content = read_bytes(path)
    try:
        return pl.read_csv(content, columns=list(schema), schema_overrides=schema, **options).select(list(schema))
    except pl.exceptions.PolarsError as error:
        raise damage(path, f"not a readable CSV table of {', '.join(schema)}: {error}") from error


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file that this workflow made.

    Raises:
        HomogenizationError: the file is gone, or a folder has its name.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise gone(path) from error
    except IsADirectoryError as error:
        raise damage(path, "a folder and not a file") from error


def move_aside(path: str | Path) -> Path:
    """Rename the damaged file at `path` to `{name}.damaged`, numbered if that is taken: so the next run makes it again.

    Where `path` is a link to Snakemake's between-workflow cache, the file in the cache is renamed and the link goes;
    else the next run would fetch the same file again.

    Returns:
        Where the damaged file is now.

    Raises:
        FileNotFoundError: there is no such file; another job may have moved it aside already.
        OSError: the file may not be renamed.
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


def damage(path: str | Path, reason: object) -> HomogenizationError:
    """Move the damaged file at `path`, one that the workflow makes, aside; the error that says so, to be raised."""
    try:
        remedy = f"It was moved to {move_aside(path)}. Run the same command again, which makes it anew."
    except FileNotFoundError:
        remedy = "Another job has moved it aside. Run the same command again, which makes it anew."
    except OSError as error:
        remedy = (
            f"It could not be moved aside ({error.strerror}). "
            f"Delete {Path(path).resolve()} and run the same command again."
        )
    return HomogenizationError(f"{path}: damaged or cut short ({reason}). {remedy}")


def gone(path: str | Path) -> HomogenizationError:
    """The error that says that a file, which the workflow makes, is no longer there."""
    return HomogenizationError(
        f"{path}: gone. It was deleted during the run, or another job found it damaged and moved it aside. "
        "Run the same command again, which makes it anew."
    )
