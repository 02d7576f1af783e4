"""Local files of reviews: which are read, and their rows as written. No reader guesses a type or a missing value."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError, nearest

# endings of files that are not read, and that no data set of the hub has
OTHER_FILES = (".txt", ".tsv", ".xlsx", ".gz", ".zip", ".zst", ".feather", ".arrow")


def is_local(source: str) -> bool:
    """Whether `source` is a path on this machine; otherwise it is the id of a data set on the hub."""
    return Path(source).suffix.lower() in FORMATS or Path(source).exists() or source.startswith((".", "/", "~"))


def missing_column(key: str, column: str, source: str, columns: Iterable[str]) -> str:
    """What is said of a source without the column that a key names."""
    columns = sorted(columns)
    cure = " Reviews without labels need 'label_column: null'." if key == "label_column" else ""
    return (
        f"corpus: {key} '{column}' is no column of {source}{nearest(column, columns)}. "
        f"It has: {', '.join(columns)}.{cure}"
    )


def read_columns(path: Path, columns: Iterable[str]) -> tuple[list[str], dict[str, list[Any]]]:
    """Read some columns of a local file whose ending is one of `FORMATS`.

    A cell of CSV is text, and None where its row is too short. JSON and Parquet keep their own types. A column of
    Parquet that holds class labels (its metadata have `datasets`' features) gives their names, and None for −1.

    Args:
        path: The file.
        columns: Names of columns; those that the file lacks are left out.

    Returns:
        The names of all columns of the file, and the values by column.

    Raises:
        HomogenizationError: the file can't be read in its format.
    """
    ending = path.suffix.lower()
    try:
        return _READERS[ending](path, list(dict.fromkeys(columns)))
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's and json's errors are ValueErrors
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise HomogenizationError(f"corpus: {path} could not be read as {ending[1:]}: {said}.") from error


def flat_columns(path: Path) -> list[str]:
    """The columns of a local file; of Parquet, without those of lists, mappings or bytes, which can be immense."""
    names, _ = read_columns(path, ())
    if path.suffix.lower() != ".parquet":
        return names
    import pyarrow.parquet
    from pyarrow.types import is_binary, is_large_binary, is_nested

    fields = pyarrow.parquet.read_schema(path)
    return [one.name for one in fields if not any(of(one.type) for of in (is_nested, is_binary, is_large_binary))]


def _of_parquet(path: Path, columns: list[str]) -> tuple[list[str], dict[str, list[Any]]]:
    import pyarrow.parquet

    schema = pyarrow.parquet.read_schema(path)
    known = [column for column in columns if column in schema.names]
    table = pyarrow.parquet.read_table(path, columns=known)
    features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    found = {}
    for column in known:
        found[column] = table[column].to_pylist()
        if features.get(column, {}).get("_type") == "ClassLabel":
            found[column] = class_names(found[column], features[column]["names"])
    return schema.names, found


def class_names(numbers: Iterable[int | None], names: Sequence[str]) -> list[str | None]:
    """The names of classes by number; −1, or null, marks a row without a label, as `datasets` has it."""
    return [None if number is None or number < 0 else names[number] for number in numbers]


def _of_csv(path: Path, columns: list[str]) -> tuple[list[str], dict[str, list[Any]]]:
    csv.field_size_limit(sys.maxsize)  # of a text: by default 131,072 characters
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)  # a quote that does not close would swallow what follows
        header = next(rows, [])
        places = {column: header.index(column) for column in columns if column in header}
        found: dict[str, list[Any]] = {column: [] for column in places}
        for row in rows:
            if len(row) > len(header):
                raise ValueError(
                    f"the row that ends in line {rows.line_num} has {len(row)} cells, and the header {len(header)}. "
                    "Put a text with commas in double quotes"
                )
            if row:
                for column, place in places.items():
                    found[column].append(row[place] if place < len(row) else None)
    return header, found


def _of_json(path: Path, columns: list[str]) -> tuple[list[str], dict[str, list[Any]]]:
    names: dict[str, None] = {}
    found: dict[str, list[Any]] = {column: [] for column in columns}
    for row in _json_rows(path):
        if not isinstance(row, dict):
            raise ValueError(f"a row is no mapping of columns to values, but {json.dumps(row)[:60]}")
        names.update(dict.fromkeys(row))
        for column in columns:
            found[column].append(row.get(column))
    return list(names), {column: values for column, values in found.items() if column in names}


def _json_rows(path: Path) -> Iterator[Any]:
    """The rows of JSON Lines, of an array of rows, or of a mapping of columns to their values."""
    with path.open(encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip()), "")
        try:
            content, rest = json.loads(first), (line for line in file if line.strip())
        except json.JSONDecodeError:  # a value of several lines
            content, rest = json.loads(first + file.read()), iter(())
        if isinstance(content, list):
            yield from content
        elif (
            isinstance(content, dict) and content and all(isinstance(cells, list | dict) for cells in content.values())
        ):
            yield from _rows_of_columns(content)
        else:
            yield content
        yield from map(json.loads, rest)


def _rows_of_columns(content: Mapping[str, list | dict]) -> Iterator[dict[str, Any]]:
    """The rows of a mapping of columns to their cells, in a list, or in a mapping by the same keys in all columns."""
    columns = {name: cells if isinstance(cells, dict) else dict(enumerate(cells)) for name, cells in content.items()}
    keys = next(iter(columns.values())).keys()
    for name, cells in columns.items():
        if cells.keys() != keys:
            raise ValueError(f"the column {name!r} has other rows than {next(iter(columns))!r}")
    yield from ({name: cells[key] for name, cells in columns.items()} for key in keys)


# ending of a file -> its reader
_READERS = {".parquet": _of_parquet, ".csv": _of_csv, ".json": _of_json, ".jsonl": _of_json}
#: Endings of local files that are read.
FORMATS = tuple(_READERS)
