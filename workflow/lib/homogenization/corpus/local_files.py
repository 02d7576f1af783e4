"""Local files of reviews, as written: no reader guesses a type or a missing value, or loses a row."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError, nearest

#: Endings of local files that are read.
FORMATS = (".parquet", ".csv", ".json", ".jsonl")
# endings of files that are not read, and that no data set of the hub has
OTHER_FILES = (".txt", ".tsv", ".xlsx", ".gz", ".zip", ".zst", ".feather", ".arrow")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def is_local(source: str) -> bool:
    """Whether `source` is a path on this machine; otherwise it is the id of a data set on the hub."""
    return Path(source).suffix.lower() in FORMATS or Path(source).exists() or source.startswith((".", "/", "~"))


def missing_column(key: str, column: str, source: str, columns: Iterable[str]) -> str:
    """What is said of a source without the column that a key names."""
    columns = sorted(columns)
    cure = " Reviews without labels need 'label_column: null'." if key == "label_column" else ""
    return f"{key} '{column}' is no column of {source}{nearest(column, columns)}. It has: {', '.join(columns)}.{cure}"


def class_names(numbers: Iterable[int | None], names: Sequence[str]) -> list[str | None]:
    """The names of classes by number; −1, or null, marks a row without a label, as `datasets` has it."""
    return [None if number is None or number < 0 else names[number] for number in numbers]


def read_columns(path: Path, n_rows: int | None = None) -> dict[str, list[Any]]:
    """Read a local file whose ending is one of `FORMATS`, or its first `n_rows` rows.

    A cell of CSV is text, and None where its row is too short. JSON and Parquet keep their own types; of Parquet,
    columns of lists, mappings and bytes are left out, and class labels (its metadata have `datasets`' features) are
    names.

    Returns:
        The cells of each column; none for a file without rows.

    Raises:
        HomogenizationError: the file can't be read in its format, or a row of it.
    """
    read = {".parquet": _of_parquet, ".csv": _of_csv}.get(path.suffix.lower(), _of_json)
    try:
        return read(path, n_rows)
    except UnicodeDecodeError as error:
        with path.open("rb") as file:
            encoding = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "latin1"
        raise HomogenizationError(
            f"{path} is not UTF-8 (byte {error.start}: {error.reason}). Convert it: "
            f"iconv -f {encoding} -t utf-8 {path} > utf8{path.suffix}"
        ) from None
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's and json's errors are ValueErrors
        said = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise HomogenizationError(f"{path} could not be read as {path.suffix[1:]}: {said}.") from error


def _of_parquet(path: Path, n_rows: int | None) -> dict[str, list[Any]]:
    import pyarrow.parquet
    from pyarrow.types import is_binary, is_large_binary, is_nested

    file = pyarrow.parquet.ParquetFile(path)
    schema = file.schema_arrow
    flat = [one.name for one in schema if not any(of(one.type) for of in (is_nested, is_binary, is_large_binary))]
    if n_rows is not None:
        return {name: [None] * min(n_rows, file.metadata.num_rows) for name in flat}
    features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    found = file.read(columns=flat).to_pydict()
    labels = {name: features[name]["names"] for name in flat if features.get(name, {}).get("_type") == "ClassLabel"}
    return found | {name: class_names(found[name], names) for name, names in labels.items()}


def _of_csv(path: Path, n_rows: int | None) -> dict[str, list[Any]]:
    csv.field_size_limit(sys.maxsize)  # of a text: by default 131,072 characters
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)  # a quote that does not close would swallow what follows
        header = next(rows, [])
        for separator, name in _SEPARATORS.items():
            if len(header) == 1 and separator in header[0]:
                raise ValueError(
                    f"it has {name} between its columns ({header[0]!r}); write commas, or save it as .jsonl"
                )
        if repeated := sorted({name for name in header if header.count(name) > 1}):
            raise ValueError(f"it has the columns {repeated} twice; rename or remove one of each")
        found: dict[str, list[Any]] = {name: [] for name in header}
        for number, row in enumerate(islice(filter(None, rows), n_rows), 2):
            if len(row) > len(header):
                raise ValueError(
                    f"row {number} has {len(row)} cells, and the header {len(header)} "
                    f"({', '.join(header)}). Put a text with commas in double quotes"
                )
            for name, cell in zip(header, [*row, *[None] * (len(header) - len(row))], strict=True):
                found[name].append(cell)
    return found if any(found.values()) else {}


def _of_json(path: Path, n_rows: int | None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for number, row in enumerate(islice(_json_rows(path), n_rows)):
        if not isinstance(row, dict):
            raise ValueError(f"row {number + 1} is no mapping of columns to values, but {json.dumps(row)[:60]}")
        for name in found.keys() | row.keys():
            found.setdefault(name, [None] * number).append(row.get(name))
    return found


def _json_rows(path: Path) -> Iterator[Any]:
    """The rows of JSON Lines, of an array of rows, or of a mapping of columns to their values."""
    with path.open(encoding="utf-8-sig") as file:
        first = next((line for line in file if line.strip()), "")
        try:
            content, rest = json.loads(first), (line for line in file if line.strip())
        except json.JSONDecodeError:  # a value of several lines
            whole = first + file.read()
            content, rest = json.loads(whole) if whole else [], iter(())
        if isinstance(content, list):
            yield from content
        elif (
            isinstance(content, dict) and content and all(isinstance(cells, list | dict) for cells in content.values())
        ):
            yield from _rows_of_columns(content)
        else:
            yield content
        yield from map(json.loads, rest)


def _rows_of_columns(content: dict[str, list | dict]) -> Iterator[dict[str, Any]]:
    """The rows of a mapping of columns to their cells, in a list, or in a mapping by the same keys in all columns."""
    columns = {name: cells if isinstance(cells, dict) else dict(enumerate(cells)) for name, cells in content.items()}
    keys = next(iter(columns.values())).keys()
    for name, cells in columns.items():
        if cells.keys() != keys:
            raise ValueError(f"the column {name!r} has other rows than {next(iter(columns))!r}")
    yield from ({name: cells[key] for name, cells in columns.items()} for key in keys)
