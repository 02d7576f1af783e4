"""Rows of an earlier run, by condition: what was computed with the same model, texts and code is not computed again."""

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, table_metadata, write_table

logger = logging.getLogger(__name__)

CACHE_KEYS = "computed_with"


def cache_key(**dependencies: Any) -> str:
    """A hash of all that rows depend on, plain values: 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(dependencies, sort_keys=True).encode()).hexdigest()[:16]


def update_tables(
    paths: Mapping[str, str | Path],
    cache_keys: Mapping[str, str],
    column: str,
    compute: Callable[[Collection[str]], Mapping[str, pl.DataFrame]],
    metadata: Mapping[str, Any],
) -> None:
    """Write tables with the rows of all keys: those of an earlier run that still hold, and new ones.

    Args:
        paths: files of the tables, by their names; they may hold earlier rows.
        cache_keys: for each key, what its rows have to be computed with; rows are in the order of these keys.
        column: column of the keys, `condition` or `pattern`.
        compute: function of the keys that are known, which gives the rows of the others by the name of their table.
        metadata: further metadata of the files.
    """
    known, tables = _earlier_rows(paths, cache_keys, column)
    logger.info("%d of %d %ss are known from an earlier run", len(known), len(cache_keys), column)
    if not tables or len(known) < len(cache_keys):
        new = compute(known)
        tables = {name: pl.concat([*([tables[name]] if tables else []), new[name]]) for name in paths}
    for name, table in tables.items():
        ordered = table.sort(pl.col(column).cast(pl.Enum(list(cache_keys))), maintain_order=True)
        write_table(ordered, paths[name], {CACHE_KEYS: dict(cache_keys), **metadata})


def _earlier_rows(
    paths: Mapping[str, str | Path], cache_keys: Mapping[str, str], column: str
) -> tuple[frozenset[str], dict[str, pl.DataFrame]]:
    """The keys whose earlier rows still hold, and these rows of each table; none where a file is absent or damaged."""
    try:
        earlier = [table_metadata(path)[CACHE_KEYS] for path in paths.values()]
        known = frozenset(key for key, wanted in cache_keys.items() if all(of.get(key) == wanted for of in earlier))
        if not known:  # other code may have written other columns
            return known, {}
        return known, {name: read_table(path).filter(pl.col(column).is_in(known)) for name, path in paths.items()}
    except (HomogenizationError, OSError, KeyError):
        return frozenset(), {}
