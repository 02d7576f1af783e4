"""Tables as Parquet files, each with a checksum of its bytes and a record of the job that made it.

The checksum covers the whole file. Parquet's own covers only the pages: despite it, a flipped byte in the footer of a
small table gives other columns or values in one case of 25 (pyarrow 25, `page_checksum_verification`).
"""

import io
import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.files import damage, read_bytes, read_csv, write_csv, written_whole
from homogenization.run.job import job_record
from homogenization.run.made_by import METADATA_KEY

_CHECKSUM_KEY = "homogenization_checksum"
_CHECKSUM_MARK = f'"{_CHECKSUM_KEY}": "'.encode()  # precedes the checksum in the file: the metadata are JSON
_CHECKSUM_DIGITS = 64


def write_table(table: pl.DataFrame, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write `table` as Parquet, whole; the file's metadata (JSON) hold `metadata`, the job's record and a checksum."""
    made_by = {"made_by": job_record()} if job_record() else {}
    header = {_CHECKSUM_KEY: "0" * _CHECKSUM_DIGITS, **(metadata or {}), **made_by}
    content = io.BytesIO()
    table.write_parquet(content, compression="zstd", metadata={METADATA_KEY: json.dumps(header, sort_keys=True)})
    with written_whole(path) as partial:
        partial.write_bytes(_with_checksum(content.getvalue()))


def write_tables(
    tables: pl.DataFrame | Sequence[pl.DataFrame],
    paths: Sequence[str | Path],
    schemas: Sequence[Mapping[str, Any] | None],
    metadata: Mapping[str, Any],
) -> None:
    """Write one table to each of `paths`, whole: as CSV if the path ends in .csv, otherwise as `write_table` does.

    Raises:
        ValueError: a table has other columns than its schema, or in another order, or of other types; without a schema
            (None), it may have any. Nothing is written.
    """
    tables = [tables] if isinstance(tables, pl.DataFrame) else tables
    for table, path, schema in zip(tables, paths, schemas, strict=True):
        if schema is not None:
            _check_columns(table, Path(path).name, schema)
    for table, path in zip(tables, paths, strict=True):
        if Path(path).suffix == ".csv":
            write_csv(table, path)
        else:
            write_table(table, path, metadata)


def _check_columns(table: pl.DataFrame, name: str, schema: Mapping[str, Any]) -> None:
    wrong = [
        f"column {column!r} is {table.schema.get(column, 'missing')}, the schema says {dtype}"
        for column, dtype in schema.items()
        if table.schema.get(column) != dtype
    ]
    wrong += [f"column {column!r} is not in the schema" for column in table.columns if column not in schema]
    if not wrong and table.columns != list(schema):
        wrong = [f"the columns are in the order {', '.join(table.columns)}, the schema says {', '.join(schema)}"]
    if wrong:
        raise ValueError(f"{name}: {'; '.join(wrong)}")


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a Parquet table that this workflow made.

    Raises:
        HomogenizationError: the file is gone, or it is damaged, cut short or not Parquet and was moved aside.
    """
    content = _read_checked(path)
    try:
        return pl.read_parquet(content)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damage(path, f"not a readable Parquet table: {error}") from error


def read_input(files: Any, schema: Mapping[str, Any] | None = None) -> Any:
    """What one input of a rule holds: the table of one file; of several files, the paths.

    An input that the study does not make is a table without rows where its schema is given, else None. A CSV is read by
    its schema.
    """
    if not files:
        return None if schema is None else pl.DataFrame(schema=schema)
    if not isinstance(files, str | Path):
        return list(files)
    return read_csv(files, dict(schema)) if Path(files).suffix == ".csv" else read_table(files)


def read_tables(paths: Sequence[str | Path]) -> pl.DataFrame:
    """Read and concatenate tables of one schema, in the order of `paths`."""
    return pl.concat([read_table(path) for path in paths])


def table_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata that `write_table` stored in the file at `path`.

    Raises:
        HomogenizationError: in the same cases as in `read_table`.
    """
    content = _read_checked(path)
    try:
        metadata = json.loads(pl.read_parquet_metadata(io.BytesIO(content))[METADATA_KEY])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, KeyError, ValueError) as error:
        raise damage(path, f"no readable metadata of this workflow: {error}") from error
    metadata.pop(_CHECKSUM_KEY, None)
    return metadata


def _read_checked(path: str | Path) -> bytes:
    """The bytes of a table after a check of its checksum; a table of another program has none and is not checked."""
    content = read_bytes(path)
    if _CHECKSUM_MARK in content and content != _with_checksum(content):
        raise damage(path, "its checksum does not fit its contents")
    return content


def _with_checksum(content: bytes) -> bytes:
    """`content` with the BLAKE2b hash of all other bytes at the place that the metadata reserve for it."""
    start = content.rindex(_CHECKSUM_MARK) + len(_CHECKSUM_MARK)
    before, after = content[:start], content[start + _CHECKSUM_DIGITS :]
    checksum = blake2b(before + after, digest_size=_CHECKSUM_DIGITS // 2).hexdigest()
    return before + checksum.encode() + after
