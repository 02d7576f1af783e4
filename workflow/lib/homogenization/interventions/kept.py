"""Rows of an earlier run, by condition: what was computed with the same model, texts and code is not computed again."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, table_metadata

STAMP = "computed_with"


def stamp(**what: Any) -> str:
    """A hash of all that rows depend on besides their condition, as 16 hexadecimal digits; plain values."""
    return blake2b(json.dumps(what, sort_keys=True).encode(), digest_size=8).hexdigest()


def earlier_rows(
    paths: Mapping[str, str | Path], stamps: Mapping[str, str], column: str = "condition"
) -> dict[str, pl.DataFrame]:
    """The rows of earlier tables that still hold.

    Args:
        paths: files of an earlier run, by the name of the table; they may be absent.
        stamps: for each key that is asked for, what its rows have to be computed with.
        column: column of the keys.

    Returns:
        Each table's rows of the keys that were computed with the same; none where a file is absent or damaged.
    """
    try:
        earlier = [table_metadata(path)[STAMP] for path in paths.values()]
        same = [key for key, wanted in stamps.items() if all(found.get(key) == wanted for found in earlier)]
        return {name: read_table(path).filter(pl.col(column).is_in(same)) for name, path in paths.items()}
    except (HomogenizationError, OSError, KeyError):
        return {}


def in_order(tables: Sequence[pl.DataFrame], keys: Sequence[str], column: str = "condition") -> pl.DataFrame:
    """Rows of several tables together, by key in the order of `keys`, otherwise in their order."""
    order = pl.DataFrame({column: list(keys), "place": range(len(keys))}, schema={column: pl.String, "place": pl.Int64})
    joined = pl.concat(tables).join(order, on=column, how="left", maintain_order="left")
    return joined.sort("place", maintain_order=True).drop("place")
