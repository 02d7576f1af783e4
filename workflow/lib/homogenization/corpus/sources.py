"""Sources of reviews: a file on this machine, or a data set on the hub."""

import csv
import json
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from homogenization.run.errors import HomogenizationError, nearest

# ending of a file -> the builder of `datasets` that reads it
BUILDERS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}

# endings of files that no builder reads, and that no data set of the hub has
OTHER_FILES = (".txt", ".tsv", ".xlsx", ".gz", ".zip", ".zst", ".feather", ".arrow")
_ROWS = 1000  # rows of a file of JSON lines whose keys are looked at


def is_local(source: str) -> bool:
    """Whether `source` is a path on this machine; otherwise it is the id of a data set on the hub."""
    return Path(source).suffix.lower() in BUILDERS or Path(source).exists() or source.startswith((".", "/", "~"))


def check_columns(source: str, text_column: str, label_column: str | None) -> None:
    """Refuse a local file whose head can't be read, or lacks a column, before anything runs.

    A file whose first line is no mapping, such as an array, is left to the job that reads it.

    Raises:
        HomogenizationError: the file is empty, is not UTF-8, or lacks a column.
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
    except (OSError, ValueError, HomogenizationError):
        return False  # the checks of the source say what is wrong
    return bool(columns) and column not in columns and not nearest(column, columns)


def missing_column(key: str, column: str, source: str, columns: Iterable[str]) -> str:
    """What is said of a source without the column that a key names."""
    columns = sorted(columns)
    cure = " Reviews without labels need 'label_column: null'." if key == "label_column" else ""
    return (
        f"corpus: {key} '{column}' is no column of {source}{nearest(column, columns)}. "
        f"It has: {', '.join(columns)}.{cure}"
    )


def _columns(path: Path) -> set[str] | None:
    """The columns of a local file, by its first `_ROWS` rows; none for a file without rows, None where unknown."""
    kind = path.suffix.lower()
    if kind == ".parquet":
        import pyarrow.parquet

        try:
            metadata = pyarrow.parquet.read_metadata(path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise HomogenizationError(f"corpus: {path} is no Parquet file ({error}).") from None
        return set(metadata.schema.to_arrow_schema().names) if metadata.num_rows else set()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if kind == ".csv":
                rows = list(islice(csv.reader(file), 2))
                return set(rows[0]) if len(rows) == 2 else set()
            lines = [line for line in islice(file, _ROWS) if line.strip()]
    except UnicodeDecodeError as error:
        raise HomogenizationError(
            f"corpus: {path} is not UTF-8 (byte {error.start}: {error.reason}). Convert it: "
            f"iconv -f latin1 -t utf-8 {path} > utf8{kind}"
        ) from None
    if lines and not _is_mapping(lines[0]):
        return None
    return {key for line in lines if _is_mapping(line) for key in json.loads(line)}


def _is_mapping(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
