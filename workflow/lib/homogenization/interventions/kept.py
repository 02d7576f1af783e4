"""Rows of an earlier run, by condition: what was computed with the same model, texts and code is not computed again."""

import json
import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, table_metadata

logger = logging.getLogger(__name__)

STAMP = "computed_with"


def stamp(**what: Any) -> str:
    """A hash of all that rows depend on besides their condition, as 16 hexadecimal digits; plain values."""
    return blake2b(json.dumps(what, sort_keys=True).encode(), digest_size=8).hexdigest()


def earlier_rows(
    paths: Mapping[str, str | Path], stamps: str, keys: Sequence[str], column: str = "condition"
) -> dict[str, pl.DataFrame]:
    """The rows of earlier tables that still hold.

    Args:
        paths: files of an earlier run, by the name of the table; they may be absent.
        stamps: what the rows have to be computed with.
        keys: values of `column` that are asked for.
        column: column of the keys.

    Returns:
        Each table's rows whose key is asked for; nothing where a file is absent, damaged, or of another stamp.
    """
    try:
        if any(table_metadata(path)[STAMP] != stamps for path in paths.values()):
            logger.info("the earlier rows were computed with another model, other texts or other code; all are new")
            return {}
        tables = {name: read_table(path) for name, path in paths.items()}
    except (HomogenizationError, OSError, KeyError):
        return {}
    return {name: table.filter(pl.col(column).is_in(list(keys))) for name, table in tables.items()}


def in_order(tables: Sequence[pl.DataFrame], keys: Sequence[str], column: str = "condition") -> pl.DataFrame:
    """Rows of several tables together, by key in the order of `keys`, otherwise in their order."""
    order = pl.DataFrame({column: list(keys), "place": range(len(keys))}, schema={column: pl.String, "place": pl.Int64})
    joined = pl.concat(tables).join(order, on=column, how="left", maintain_order="left")
    return joined.sort("place", maintain_order=True).drop("place")
