"""Rows of an earlier run, by condition: what was computed with the same model, texts and code is not computed again."""

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
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
        if not same:  # other code may have written other columns
            return {}
        return {name: read_table(path).filter(pl.col(column).is_in(same)) for name, path in paths.items()}
    except (HomogenizationError, OSError, KeyError):
        return {}


def with_earlier(
    paths: Mapping[str, str],
    stamps: Mapping[str, str],
    told_by: str,
    make: Callable[[Collection[str]], Mapping[str, pl.DataFrame]],
) -> dict[str, pl.DataFrame]:
    """Tables of all conditions: the rows of an earlier run that still hold, and new ones.

    Args:
        paths: files of the tables, which may hold earlier rows, by their names.
        stamps: for each condition, what its rows have to be computed with.
        told_by: name of the table in which every computed condition has a row.
        make: function of the conditions that are known, which gives the rows of the others by the name of their table.
    """
    kept = earlier_rows(paths, stamps)
    known = set(kept[told_by]["condition"]) if kept else set()
    logger.info("%d of %d conditions are known from an earlier run", len(known), len(stamps))
    if known.issuperset(stamps):
        return kept
    made = make(known)
    return {name: in_order([*([kept[name]] if kept else []), made[name]], list(stamps)) for name in paths}


def in_order(tables: Sequence[pl.DataFrame], keys: Sequence[str], column: str = "condition") -> pl.DataFrame:
    """Rows of several tables together, by key in the order of `keys`, otherwise in their order."""
    order = pl.DataFrame({column: list(keys), "place": range(len(keys))}, schema={column: pl.String, "place": pl.Int64})
    joined = pl.concat(tables).join(order, on=column, how="left", maintain_order="left")
    return joined.sort("place", maintain_order=True).drop("place")
