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


def measured_table(
    rows: Iterable[Mapping[str, Any]], schema: Mapping[str, Any], identity: Mapping[str, Any], n_blocks: int
) -> pl.DataFrame:
    """The table of `schema` from rows without model and variant, which `identity` names, and depth.

    Depth is layer / number of blocks: 0 after the embedding, 1 after the last block.
    """
    own = {name: dtype for name, dtype in schema.items() if name not in ("model", "variant", "depth")}
    layer = next((name for name in ("layer", "layer_to") if name in own), None)
    columns = {name: pl.lit(identity[name], dtype=pl.String) for name in ("model", "variant")}
    if layer:
        # tables are joined by depth, so polars computes it everywhere: Python's last digit may differ
        columns["depth"] = pl.col(layer) / max(n_blocks, 1)
    return pl.DataFrame(list(rows), schema=own, orient="row").with_columns(**columns).select(*schema)
