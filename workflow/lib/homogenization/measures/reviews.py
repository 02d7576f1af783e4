"""What the measures of a store share: its reviews, and the columns that name them."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from homogenization.states.store import StateStore


def spans_of(store: StateStore) -> list[tuple[str, slice]]:
    """The name of each review, and where its tokens lie."""
    ends = pairwise(store.review_offsets.tolist())
    return [(review_id, slice(*span)) for review_id, span in zip(store.review_ids, ends, strict=True)]


def provenance(store: StateStore) -> dict[str, Any]:
    """The store's attributes without the list of reviews, for the metadata of tables made from it."""
    return {name: value for name, value in store.attributes.items() if name != "review_ids"}


def with_origin(
    table: pl.DataFrame, identity: Mapping[str, Any], n_blocks: int, layer: str | None = "layer"
) -> pl.DataFrame:
    """`table` with the columns model, variant and depth.

    Depth is layer / number of blocks: 0 after the embedding, 1 after the last block.

    Args:
        table: a table.
        identity: names by kind, `model` and `variant` among them.
        n_blocks: blocks of the model.
        layer: column of the layer that depth follows from; None for a table without layers, which gets no depth.
    """
    names = {name: pl.lit(identity[name], dtype=pl.String) for name in ("model", "variant")}
    # tables are joined by depth, so polars computes it everywhere: Python's last digit may differ
    depth = {} if layer is None else {"depth": pl.col(layer) / max(n_blocks, 1)}
    return table.with_columns(**names, **depth)


def measured_table(
    rows: Iterable[Mapping[str, Any]], schema: Mapping[str, Any], identity: Mapping[str, Any], n_blocks: int
) -> pl.DataFrame:
    """The table of `schema` from rows without model, variant and depth; the other arguments are as in `with_origin`."""
    own = {name: dtype for name, dtype in schema.items() if name not in ("model", "variant", "depth")}
    table = pl.DataFrame(list(rows), schema=own, orient="row")
    layer = next((name for name in ("layer", "layer_to") if name in own), None)
    return with_origin(table, identity, n_blocks, layer).select(*schema)
