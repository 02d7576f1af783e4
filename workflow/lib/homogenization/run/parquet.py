"""Tables as Parquet files, whose metadata say in JSON what they were made with."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.files import damage, read_csv, write_csv, written_whole

_METADATA_KEY = "homogenization"


def write_table(table: pl.DataFrame, path: str | Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Write `table` as Parquet, whole; the file's metadata hold `metadata` as JSON."""
    header = {_METADATA_KEY: json.dumps(metadata or {}, sort_keys=True)}
    with written_whole(path) as partial:
        table.write_parquet(partial, compression="zstd", metadata=header)


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
        HomogenizationError: the file is gone, or it is damaged, cut short or not Parquet.
    """
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damage(path, error) from error


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
    try:
        return json.loads(pl.read_parquet_metadata(path)[_METADATA_KEY])
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException, KeyError, ValueError) as error:
        raise damage(path, error) from error
