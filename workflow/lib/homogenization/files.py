"""Writing files whole: beside their final name first, then renamed, so that nothing half-written is ever found."""

import errno
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.errors import HomogenizationError

METADATA_KEY = "homogenization"
_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch", "transformers")
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
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.", ignore_cleanup_errors=True) as folder:
        partial = Path(folder) / path.name
        try:
            yield partial
            with open(partial, "rb+") as handle:
                os.fsync(handle.fileno())
            os.replace(partial, path)
        except Exception as error:
            if _is_disk_full(error):
                raise HomogenizationError(
                    f"{path}: the disk is full; nothing was left behind. "
                    f"Free some space on the file system of {path.parent} and run the same command again."
                ) from error
            raise


def _is_disk_full(error: BaseException) -> bool:
    """Whether `error` is, or wraps, the operating system's word that no space is left."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    # polars and zipfile turn the errno into text
    return "No space left on device" in str(error)


def write_table(table: pl.DataFrame, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write `table` as Parquet, whole, with `metadata` and the job's record (JSON) in its key-value metadata."""
    made_by = {"made_by": job_record()} if job_record() else {}
    described = {METADATA_KEY: json.dumps({**(metadata or {}), **made_by}, sort_keys=True)}
    with written_whole(path) as partial:
        table.write_parquet(partial, compression="zstd", metadata=described)


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a Parquet table of this workflow.

    Raises:
        HomogenizationError: the file is cut short or is no Parquet file.
    """
    try:
        return pl.read_parquet(path)
    except pl.exceptions.ComputeError as error:
        raise HomogenizationError(
            f"{path}: not a readable Parquet table ({error}). Delete the file and run the same command again."
        ) from error


def read_tables(paths: list[str]) -> pl.DataFrame:
    """Read and concatenate tables of one schema, in the order of `paths`."""
    return pl.concat([read_table(path) for path in paths])


def table_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata that `write_table` stored in the file at `path`."""
    return json.loads(pl.read_parquet_metadata(path)[METADATA_KEY])
