"""Local files of reviews, as written: no reader guesses a type or a missing value, or loses a row."""

import csv
import json
import re
import sys
from collections.abc import Iterable
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError, first_line, nearest

#: Endings of local files that are read.
FORMATS = (".parquet", ".csv", ".json", ".jsonl")
# endings of files that are not read, and that no data set of the hub has
OTHER_FILES = (".txt", ".tsv", ".xlsx", ".gz", ".zip", ".zst", ".feather", ".arrow")
# columns that the tables of the corpus have of themselves
_OWN = ("review_id", "row", "text", "label", "n_words", "rank", "hash")


def is_local(source: str) -> bool:
    """Whether `source` is a path on this machine; otherwise it is the id of a data set on the hub."""
    return Path(source).suffix.lower() in FORMATS or Path(source).exists() or source.startswith((".", "/", "~"))


def sample_name(column: str, text_column: str, label_column: str | None) -> str:
    """The name that a column of the source has in the tables of the corpus."""
    read = {label_column: "label", text_column: "text"}
    return read.get(column) or (f"{column}_of_source" if column in _OWN else column)


def missing_column(key: str, column: str, source: str, columns: Iterable[str]) -> str:
    """What is said of a source without the column that a key names."""
    columns = sorted(columns)
    cure = " Reviews without labels need 'label_column: null'." if key == "label_column" else ""
    return f"{key} '{column}' is no column of {source}{nearest(column, columns)}. It has: {', '.join(columns)}.{cure}"


def read_columns(path: Path, n_rows: int | None = None) -> dict[str, list[Any]]:
    """Read a local file whose ending is one of `FORMATS`, or its first `n_rows` rows.

    Returns:
        The cells of each column, none for a file without rows. A cell of CSV is text, and None where its row is too
        short; JSON and Parquet keep their own types.

    Raises:
        HomogenizationError: the file can't be read in its format, or a row of it.
    """
    kind = path.suffix[1:].lower()
    read = {"parquet": _of_parquet, "csv": _of_csv}.get(kind, _of_json)
    try:
        return read(path, n_rows)
    except UnicodeDecodeError as error:
        encoding = "utf-16" if error.object[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin1"
        raise HomogenizationError(
            f"{path} is not UTF-8 (byte {error.start}: {error.reason}). Convert it: "
            f"iconv -f {encoding} -t utf-8 {path} > utf8{path.suffix}"
        ) from None
    except (OSError, ValueError, csv.Error) as error:  # pyarrow's and json's errors are ValueErrors
        raise HomogenizationError(f"{path} could not be read as {kind}: {first_line(error)}.") from error


def _of_parquet(path: Path, n_rows: int | None) -> dict[str, list[Any]]:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    return (file.read() if n_rows is None else next(file.iter_batches(n_rows))).to_pydict()


def _of_csv(path: Path, n_rows: int | None) -> dict[str, list[Any]]:
    csv.field_size_limit(sys.maxsize)  # of a text: by default 131,072 characters
    with path.open(encoding="utf-8-sig", newline="") as file:
        # a quote that does not close would swallow what follows, so it is an error
        rows = list(islice(filter(None, csv.reader(file, strict=True)), n_rows and n_rows + 1))
    header = rows[0] if rows else []
    if len(header) == 1 and (mark := re.search(r"[;\t|]", header[0])):
        marks = {";": "semicolons", "\t": "tabs", "|": "bars"}[mark[0]]
        raise ValueError(f"it has {marks} between its columns ({header[0]!r}); write commas, or save it as .jsonl")
    if len(set(header)) < len(header):
        raise ValueError(f"it has a column twice ({', '.join(header)}); rename or remove one")
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            raise ValueError(
                f"row {number} has {len(row)} cells, and the header {len(header)} ({', '.join(header)}). Put a text "
                "with commas in double quotes"
            )
    return {name: cells for name, *cells in zip_longest(*rows)} if len(rows) > 1 else {}


def _of_json(path: Path, n_rows: int | None) -> dict[str, list[Any]]:
    """Columns of JSON Lines, of an array of rows, or of a mapping of columns to their cells."""
    with path.open(encoding="utf-8-sig") as file:
        text = "".join(islice(file, n_rows))
    try:
        content = json.loads(text, parse_constant=lambda name: None)
    except json.JSONDecodeError:
        lines = ",\n".join(filter(str.strip, text.split("\n")))
        content = json.loads(f"[{lines}]", parse_constant=lambda name: None)
    if isinstance(content, dict) and all(isinstance(cells, list | dict) for cells in content.values()):
        columns = [cells.values() if isinstance(cells, dict) else cells for cells in content.values()]
        content = [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]
    rows = content if isinstance(content, list) else [content]
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise ValueError(f"row {number} is no mapping of columns to values, but {json.dumps(row)[:60]}")
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))}
