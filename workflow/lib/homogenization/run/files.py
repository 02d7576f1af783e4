"""Files of the workflow: they are written in a hidden folder and then renamed, so a reader finds none in part."""

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


@contextmanager
def written_whole(path: str | Path, shared: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to; rename it to `path` on success, remove it on any failure.

    Args:
        path: final path; missing folders are created.
        shared: whether several processes may write this file at once; the last one wins. If False, what a killed
            attempt left is removed.
    """
    path = Path(path)
    with written_together(path.parent, [path.name], shared) as partial:
        yield partial / path.name


@contextmanager
def written_together(folder: str | Path, names: Sequence[str], shared: bool = False) -> Iterator[Path]:
    """Yield a hidden folder in `folder` for the files `names`; on success, move all of them to `folder`."""
    folder, hidden = Path(folder), f".{names[0]}."
    folder.mkdir(parents=True, exist_ok=True)
    for earlier in [] if shared else folder.glob(f"{glob.escape(hidden)}*"):
        shutil.rmtree(earlier, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=hidden, ignore_cleanup_errors=True) as partial:
        yield Path(partial)
        for name in names:
            os.replace(Path(partial) / name, folder / name)


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
        HomogenizationError: it is gone or damaged.
    """
    try:
        return json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise damage(path, error) from error


def read_csv(path: str | Path, schema: dict[str, Any]) -> pl.DataFrame:
    """Read the columns of `schema` from a CSV table that this workflow made.

    Raises:
        HomogenizationError: it is gone or damaged, or lacks a column.
    """
    try:
        return pl.read_csv(path, columns=list(schema), schema_overrides=schema).select(list(schema))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise damage(path, error) from error


def damage(path: str | Path, reason: object) -> HomogenizationError:
    """The error, for the caller to raise, for a file that this workflow made and that can't be read."""
    if not Path(path).exists():
        return HomogenizationError(f"{path}: gone. Run the same command again, which makes it anew.")
    return HomogenizationError(
        f"{path}: damaged or cut short ({reason}). Delete {Path(path).resolve()} and run the same command again."
    )
