"""What a file was made by: a key of its job's parameters and of what the job read, kept in the file.

The key of a job holds the keys of the files that it read, and so the whole chain above them. A table has it among its
metadata, a store in the comment of its ZIP file, the folder of a model that the workflow built in the last line of
`ORIGIN_FILE`, and JSON under `made_by`. CSV, figures and pages have no place for it; the log of their job ends with it.
A file without a key, as what a user brings, counts by its content.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.names.files import ORIGIN_FILE
from homogenization.run.regular_files import sha256_once

METADATA_KEY = "homogenization"  # what the metadata of a table stand under
_MARK = "made by "
_MARKED = re.compile(rb"made by ([0-9a-f]{32})\s*$")
_TAIL = 100  # bytes


def job_key(params: Mapping[str, Any], files: Iterable[str | Path]) -> str:
    """The key of what a job makes: 32 hexadecimal digits.

    Args:
        params: parameters of its rule, plain values; among them is the hash of its code.
        files: files that it reads, in the order of its rule.
    """
    return key_of(params, [file_key(file) for file in files])


def key_of(params: Mapping[str, Any], read: list[str]) -> str:
    """The key of a job with these parameters that reads files with these keys."""
    return hashlib.blake2b(json.dumps([dict(params), read], sort_keys=True).encode(), digest_size=16).hexdigest()


def file_key(path: str | Path) -> str:
    """The key of the job that made a file, or the SHA-256 of a file without one; "" of one that is not there."""
    try:
        return recorded_key(path) or sha256_once(path)
    except FileNotFoundError:
        return ""


def recorded_key(path: str | Path) -> str | None:
    """The key that a file holds, or the folder of the built model that it belongs to; None without one.

    One small read: the end of a file, or the footer of a table.
    """
    path = Path(path)
    if path.suffix not in PLACES:
        return _key_of_folder(path)
    try:
        return PLACES[path.suffix](path)
    except (OSError, ValueError, TypeError, AttributeError, pl.exceptions.PolarsError):
        return None  # damaged, or another program's: whoever reads it says so


def marked_key(path: str | Path) -> str | None:
    """The key at the end of a text or ZIP file; None without one."""
    try:
        with open(path, "rb") as handle:
            handle.seek(max(0, handle.seek(0, 2) - _TAIL))
            found = _MARKED.search(handle.read())
    except OSError:
        return None
    return found[1].decode() if found else None


def mark(key: str) -> str:
    """The line with which a text ends that holds a key."""
    return f"{_MARK}{key}"


def marked(text: str, key: str | None) -> str:
    """A text, and a last line that holds `key`, if there is one."""
    return "\n".join([text, *([mark(key)] if key else []), ""])


def mark_zip(path: str | Path, key: str | None) -> None:
    """Write a key into the comment of a ZIP file."""
    if key is not None:
        with zipfile.ZipFile(path, "a") as file:
            file.comment = mark(key).encode()


def _key_of_table(path: Path) -> str | None:
    metadata = pl.read_parquet_metadata(path).get(METADATA_KEY)
    return json.loads(metadata).get("made_by", {}).get("key") if metadata else None


def _key_of_json(path: Path) -> str | None:
    # a model's JSON is not of ours, and large
    return _key_of_folder(path) or json.loads(path.read_bytes()).get("made_by", {}).get("key")


def _key_of_folder(path: Path) -> str | None:
    # the state of a training lies in a folder of its own in that of its model
    return marked_key(path.parent / ORIGIN_FILE) or marked_key(path.parent.parent / ORIGIN_FILE)


# how to read the key of a file that has a place for it, by its suffix
PLACES = {".parquet": _key_of_table, ".zip": marked_key, ".json": _key_of_json}


def cache_key(**dependencies: Any) -> str:
    """A hash of all that the rows of a cache depend on, as 16 hexadecimal digits; plain values."""
    return hashlib.blake2b(json.dumps(dependencies, sort_keys=True).encode(), digest_size=8).hexdigest()
