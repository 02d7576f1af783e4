"""Sources of reviews: a file on this machine, or a data set on the hub."""

from pathlib import Path

# ending of a file -> the builder of `datasets` that reads it
BUILDERS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}


def is_local(source: str) -> bool:
    """Whether `source` is a path on this machine; otherwise it is the id of a data set on the hub."""
    return Path(source).suffix.lower() in BUILDERS or Path(source).exists() or source.startswith((".", "/", "~"))
