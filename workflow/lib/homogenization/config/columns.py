"""What the head of a local file of reviews tells before anything runs: its columns, and how they are written."""

import codecs
import csv
import json
import os
from itertools import islice
from pathlib import Path

from homogenization.corpus.local_files import is_local, missing_column
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.run.regular_files import open_regular

_ROWS = 1000  # rows that are looked at
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def check_columns(source: str, text_column: str, label_column: str | None) -> None:
    """Refuse a local file whose head can't be read, or lacks a column, before anything runs.

    A file whose first line is no mapping, such as an array, is left to the job that reads it.

    Raises:
        HomogenizationError: the file is empty, is not UTF-8, is no table with commas, or lacks a column.
    """
    columns = _columns(Path(source).expanduser())
    if columns is not None and not columns:
        raise HomogenizationError(f"corpus: {source} holds no rows. Give a source with reviews.")
    for key, column in (("text_column", text_column), ("label_column", label_column)):
        if columns and column is not None and column not in columns:
            raise HomogenizationError(missing_column(key, column, source, columns))


def lacks_column(source: object, column: str) -> bool:
    """Whether `source` is a local file whose columns can be read and include neither `column` nor a like spelling."""
    if not (isinstance(source, str) and is_local(source)):
        return False
    try:
        columns = _columns(Path(os.path.expandvars(source)).expanduser())
    except (OSError, HomogenizationError):
        return False  # the checks of the source say what is wrong
    return bool(columns) and column not in columns and not nearest(column, columns)


def _columns(path: Path) -> list[str] | None:
    """The columns of a local file, by its first `_ROWS` rows; none for a file without rows, None where unknown."""
    open_regular(path).close()  # what is no file would be waited for
    kind = path.suffix.lower()
    if kind == ".parquet":
        import pyarrow.parquet

        try:
            metadata = pyarrow.parquet.read_metadata(path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise HomogenizationError(f"corpus: {path} is no Parquet file ({error}).") from None
        return metadata.schema.to_arrow_schema().names if metadata.num_rows else []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if kind == ".csv":
                return _columns_of_csv(path, list(islice(csv.reader(file), 1 + _ROWS)))
            lines = [line for line in islice(file, _ROWS) if line.strip()]
    except csv.Error:
        return None
    except UnicodeDecodeError as error:
        with path.open("rb") as file:
            encoding = _MARKS.get(file.read(2), "latin1")
        raise HomogenizationError(
            f"corpus: {path} is not UTF-8 (byte {error.start}: {error.reason}). Convert it: "
            f"iconv -f {encoding} -t utf-8 {path} > utf8{kind}"
        ) from None
    if lines and not _is_mapping(lines[0]):
        return None
    return list(dict.fromkeys(key for line in lines if _is_mapping(line) for key in json.loads(line)))


def _columns_of_csv(path: Path, rows: list[list[str]]) -> list[str]:
    """The header, after a check that its names differ and that no row has more cells: a reader would shift them."""
    header = rows[0] if len(rows) > 1 else []
    for separator, name in _SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise HomogenizationError(
                f"corpus: {path} has {name} between its columns ({header[0]!r}); write commas, or save it as .jsonl"
            )
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise HomogenizationError(f"corpus: {path} has the columns {repeated} twice; rename or remove one of each")
    for number, row in enumerate(rows[1:] if header else (), 2):
        if len(row) > len(header):
            raise HomogenizationError(
                f"corpus: {path}: row {number} has {len(row)} cells, and the header {len(header)} "
                f"({', '.join(header)}). Put a text with commas in double quotes"
            )
    return header


def _is_mapping(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
