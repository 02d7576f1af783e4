"""Iteration over the token matrices of every review, point and layer, and the tables that measures make of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.states.points import FINAL_NORM, RESIDUAL_STREAM

OVERFLOW = (
    "float16 overflows at 65504: set 'dtype' of this model and of 'states' to bfloat16 or float32; its states are then "
    "extracted again."
)


class TokenStates(Protocol):
    """The states of one model, variant and shard, as measures read them. A store of states is one.

    Attributes:
        attributes: provenance of the states, with `model` and `variant`.
        review_ids: names of the reviews.
        review_offsets: int64 (reviews + 1,), where each review's tokens begin and end.
        n_blocks: blocks of the model.
        layers: the layers of the residual stream that can be read, ascending.
    """

    attributes: Mapping[str, Any]
    review_ids: Sequence[str]
    review_offsets: np.ndarray
    n_blocks: int
    layers: Sequence[int]

    def residual_stream(self, layer: int) -> np.ndarray:
        """The residual stream (tokens, width), float32: layer 0 before the first block, l after block l."""

    def final_norm(self) -> np.ndarray | None:
        """The states after the final norm (tokens, width), float32; None where there are none."""


def iterate_states(store: TokenStates) -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield (point, layer, states) with states (tokens, width) float32 of all reviews, one layer in memory at a time.

    Layer 0 is the residual stream after the embedding, layer l after block l; those that are stored are yielded. The
    state after the final norm, where it was stored, comes last, with the number of blocks as its layer.
    """
    for layer in store.layers:
        yield RESIDUAL_STREAM, layer, store.residual_stream(layer)
    final_norm = store.final_norm()
    if final_norm is not None:
        yield FINAL_NORM, store.n_blocks, final_norm


def iterate_reviews(store: TokenStates) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Yield (place, tokens) of every review at every point and layer, in the order of `iterate_states`.

    `tokens` are (n, width), float32; `place` holds the columns review_id, point, layer, n_tokens and width of a table.

    Raises:
        HomogenizationError: a value is not finite.
    """
    offsets = store.review_offsets
    for point, layer, states in iterate_states(store):
        for index, review_id in enumerate(store.review_ids):
            tokens = states[offsets[index] : offsets[index + 1]]
            if not np.isfinite(tokens).all():
                raise HomogenizationError(
                    f"review {review_id}: the states at {point}, layer {layer}, are not all finite. {OVERFLOW}"
                )
            n_tokens, width = tokens.shape
            place = {"review_id": review_id, "point": point, "layer": layer, "n_tokens": n_tokens, "width": width}
            yield place, tokens
        print(f"{point}, layer {layer}: {len(store.review_ids)} reviews", flush=True)


def measured_table(
    rows: Iterable[Mapping[str, Any]], store: TokenStates, schema: Mapping[str, Any], layer: str = "layer"
) -> pl.DataFrame:
    """The table of one measure of `store`.

    Args:
        rows: values of the columns of `schema`, without model, variant and depth, which `with_origin` adds.
        store: the states that were measured.
        schema: columns of the table.
        layer: column of the layer that depth follows from.
    """
    columns: dict[str, list] = {name: [] for name in schema if name not in ("model", "variant", "depth")}
    for row in rows:
        for name, values in columns.items():
            values.append(row[name])
    table = pl.DataFrame(columns, schema={name: schema[name] for name in columns})
    return with_origin(table, store.attributes, store.n_blocks, layer).select(*schema)


def with_origin(table: pl.DataFrame, identity: Mapping[str, Any], n_blocks: int, layer: str = "layer") -> pl.DataFrame:
    """`table` with the columns model, variant and depth.

    Depth is layer / number of blocks: 0 after the embedding, 1 after the last block.

    Args:
        table: a table with a column `layer`, Int32.
        identity: names by kind, `model` and `variant` among them.
        n_blocks: blocks of the model.
        layer: column of the layer that depth follows from.
    """
    names = {name: pl.lit(identity[name], dtype=pl.String) for name in ("model", "variant")}
    # tables are joined by depth, so polars computes it everywhere: Python's last digit may differ
    return table.with_columns(**names, depth=pl.col(layer) / max(n_blocks, 1))


def provenance(store: TokenStates) -> dict[str, Any]:
    """The store's attributes without the list of reviews, for the metadata of tables made from it."""
    return {name: value for name, value in store.attributes.items() if name != "review_ids"}
