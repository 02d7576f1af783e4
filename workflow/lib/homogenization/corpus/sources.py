"""Sources of reviews: a file on this machine, or a data set on the hub."""

from collections.abc import Iterable
from pathlib import Path

from homogenization.run.errors import nearest

# endings of local files that are read
FORMATS = (".parquet", ".csv", ".json", ".jsonl")

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
