"""Files of the workflow: written whole, checked when they are read, moved aside when they are damaged.

A file is written beside its final name and then renamed, so that nothing half-written is ever found. A table carries a
checksum of its own bytes: Parquet has none, and half of all flipped bytes would go unnoticed into the results.
"""

import errno
import io
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.errors import HomogenizationError

METADATA_KEY = "homogenization"
_CHECKSUM_KEY = "homogenization_checksum"
_CHECKSUM_MARK = f'"{_CHECKSUM_KEY}": "'.encode()  # what stands before it in the file: the metadata are JSON
_CHECKSUM_DIGITS = 64
_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch", "transformers")
_SECONDS_OF_SILENCE = 24 * 3600
_job: ContextVar[dict[str, Any] | None] = ContextVar("job", default=None)


def describe_job(rule: str, params: Mapping[str, Any]) -> None:
    """Note the running job: its rule and parameters (the hash of its code is one) go into every file that it writes."""
    _job.set({"rule": rule, "params": dict(params), "libraries": {name: version(name) for name in _LIBRARIES}})


def job_record() -> dict[str, Any]:
    """What made the files of this job: rule, parameters, versions of libraries. Empty outside of a job."""
    return dict(_job.get() or {})


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; rename it to `path` on success, remove it on any failure.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    path = Path(path)
    with written_together(path.parent, [path.name]) as partial:
        yield partial / path.name


@contextmanager
def written_together(folder: str | Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a hidden folder in `folder` to write the files `names` to; when all are written, each takes its place.

    Raises:
        HomogenizationError: the disk or the quota is full.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hidden = f".{names[0]}."
    _remove_remains(folder, hidden)
    # the name says whose it is: see _remove_remains
    hidden += f"{os.getpid()}@{socket.gethostname()}."
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


def _remove_remains(folder: Path, hidden: str) -> None:
    """Remove what killed processes left of their attempts to write a file; a living one's attempt stays.

    Whether a process of another machine lives can't be seen from here: its attempt counts as given up when nothing was
    written to it for a day.
    """
    for attempt in folder.iterdir():
        if not attempt.name.startswith(hidden):
            continue
        process, _, machine = attempt.name.removeprefix(hidden).partition("@")
        if process.isdecimal() and machine.rpartition(".")[0] == socket.gethostname():
            abandoned = not _is_alive(int(process))
        else:
            abandoned = time.time() - _last_written(attempt) > _SECONDS_OF_SILENCE
        if abandoned:
            shutil.rmtree(attempt, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def _last_written(folder: Path) -> float:
    """When something was last written to `folder` or a file in it; now, if it is gone meanwhile."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except OSError:
        return time.time()


def _is_disk_full(error: BaseException) -> bool:
    """Whether `error` is, or wraps, the operating system's word that no space is left."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    # polars and zipfile turn the errno into text
    return "No space left on device" in str(error)


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


def write_table(table: pl.DataFrame, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write `table` as Parquet, whole, with `metadata`, the job's record and a checksum (JSON) in its own metadata."""
    made_by = {"made_by": job_record()} if job_record() else {}
    described = {_CHECKSUM_KEY: "0" * _CHECKSUM_DIGITS, **(metadata or {}), **made_by}
    content = io.BytesIO()
    table.write_parquet(content, compression="zstd", metadata={METADATA_KEY: json.dumps(described, sort_keys=True)})
    with written_whole(path) as partial:
        partial.write_bytes(_with_checksum(content.getvalue()))


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a Parquet table that this workflow made.

    Raises:
        HomogenizationError: the file is damaged, cut short or no Parquet file, and was moved aside; or it is gone.
    """
    content = _read_checked(path)
    try:
        return pl.read_parquet(content)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damage(path, f"not a readable Parquet table: {error}") from error


def read_tables(paths: list[str]) -> pl.DataFrame:
    """Read and concatenate tables of one schema, in the order of `paths`."""
    return pl.concat([read_table(path) for path in paths])


def table_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata that `write_table` stored in the file at `path`.

    Raises:
        HomogenizationError: as `read_table`.
    """
    content = _read_checked(path)
    try:
        metadata = json.loads(pl.read_parquet_metadata(io.BytesIO(content))[METADATA_KEY])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, KeyError, ValueError) as error:
        raise damage(path, f"no readable metadata of this workflow: {error}") from error
    metadata.pop(_CHECKSUM_KEY, None)
    return metadata


def read_json(path: str | Path) -> Any:
    """Read a JSON file that this workflow made.

    Raises:
        HomogenizationError: the file is damaged or cut short, and was moved aside; or it is gone.
    """
    content = _read_whole(path)
    try:
        return json.loads(content)
    except ValueError as error:
        raise damage(path, f"not readable as JSON: {error}") from error


def _read_checked(path: str | Path) -> bytes:
    """The bytes of a table, once its checksum fits; a table that another program made has none."""
    content = _read_whole(path)
    if _CHECKSUM_MARK in content and content != _with_checksum(content):
        raise damage(path, "its checksum does not fit its contents")
    return content


def _read_whole(path: str | Path) -> bytes:
    """The bytes of a file that the workflow made."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise gone(path) from error
    except IsADirectoryError as error:
        raise damage(path, "a folder and not a file") from error


def _with_checksum(content: bytes) -> bytes:
    """`content` with the BLAKE2b hash of all its other bytes in the place that is kept for it in the metadata."""
    start = content.rindex(_CHECKSUM_MARK) + len(_CHECKSUM_MARK)
    before, after = content[:start], content[start + _CHECKSUM_DIGITS :]
    checksum = blake2b(before + after, digest_size=_CHECKSUM_DIGITS // 2).hexdigest()
    return before + checksum.encode() + after
