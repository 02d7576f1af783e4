"""Tables as Parquet files, whose metadata say in JSON what they were made with; or as CSV, where people read them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.files import written_whole

_METADATA_KEY = "homogenization"


def write_table(
    table: pl.DataFrame,
    path: str | Path,
    metadata: Mapping[str, Any] | None = None,
    schema: Mapping[str, Any] | None = None,
) -> None:
    """Write `table`, whole: as CSV if the path ends in .csv, otherwise as Parquet with `metadata`.

    Raises:
        ValueError: it has other columns than `schema`, or in another order, or of other types.
    """
    if schema is not None and list(table.schema.items()) != list(schema.items()):
        raise ValueError(f"{path}: its columns are {table.schema}; its schema says {pl.Schema(schema)}")
    with written_whole(path) as partial:
        if partial.suffix == ".csv":
            table.write_csv(partial)
        else:
            table.write_parquet(partial, metadata={_METADATA_KEY: json.dumps(metadata or {}, sort_keys=True)})


def read_table(path: str | Path, schema: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """Read a table that this workflow made; of a CSV, the columns of `schema`."""
    if Path(path).suffix != ".csv":
        return pl.read_parquet(path)
    return pl.read_csv(path, columns=list(schema or {}), schema_overrides=schema).select(list(schema or {}))


def read_input(files: Any, schema: Mapping[str, Any] | None = None) -> Any:
    """What one input of a rule holds: the table of one file; of several files, the paths.

    An input that the study does not make is a table without rows where its schema is given, else None.
    """
    if not files:
        return None if schema is None else pl.DataFrame(schema=schema)
    return read_table(files, schema) if isinstance(files, str | Path) else list(files)


def read_tables(paths: Sequence[str | Path]) -> pl.DataFrame:
    """Read and concatenate tables of one schema, in the order of `paths`."""
    return pl.concat([read_table(path) for path in paths])


def table_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata that `write_table` stored in the file at `path`."""
    return json.loads(pl.read_parquet_metadata(path)[_METADATA_KEY])
