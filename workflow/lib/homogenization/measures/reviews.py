"""Iteration over the token matrices of every review, point and layer, and the tables that measures make of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import polars as pl

from homogenization.measures.views import TokenGram
from homogenization.run.errors import HomogenizationError
from homogenization.vocabulary.points import ALL_TOKENS, FINAL_NORM, RESIDUAL_STREAM

_BLOCK_TOKENS = 16_384  # 0.27 GB of float32 at a width of 4,096; a chunk of the store at each end is read twice

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

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream (tokens, width), float32, of these tokens: layer 0 before the first block, l after l."""

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm (tokens, width), float32; None where there are none."""


def iterate_reviews(store: TokenStates) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Yield (place, tokens) of every review at every point and layer; a few reviews at one layer are in memory.

    `tokens` are (n, width), float32; `place` holds the columns review_id, point, layer, n_tokens and width of a table.
    Layer 0 is the residual stream after the embedding, layer l after block l; those that are stored are read. The
    state after the final norm, where it was stored, comes last, with the number of blocks as its layer.

    Raises:
        HomogenizationError: a value is not finite.
    """
    readers = [(RESIDUAL_STREAM, layer, partial(store.residual_stream, layer)) for layer in store.layers]
    for point, layer, read in [*readers, (FINAL_NORM, store.n_blocks, store.final_norm)]:
        for reviews in _blocks(store.review_offsets):
            offsets = store.review_offsets[reviews.start : reviews.stop + 1]
            states = read(slice(int(offsets[0]), int(offsets[-1])))
            if states is None:
                return
            for index, tokens in zip(reviews, np.split(states, offsets[1:-1] - offsets[0]), strict=True):
                review_id = store.review_ids[index]
                if not np.isfinite(tokens).all():
                    raise HomogenizationError(
                        f"review {review_id}: the states at {point}, layer {layer}, are not all finite. {OVERFLOW}"
                    )
                n_tokens, width = tokens.shape
                place = {"review_id": review_id, "point": point, "layer": layer, "n_tokens": n_tokens, "width": width}
                yield place, tokens
        print(f"{point}, layer {layer}: {len(store.review_ids)} reviews", flush=True)


# what a measure finds in the tokens of one review; it can be pickled, and so can what it finds
OfReview = Callable[[TokenGram], Any]
# calls a function of each of many arguments and gives the results in their order, as `map` does
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class ReviewMeasure(Protocol):
    """A measure of single reviews, each at one point and layer: of a store, or while a model reads.

    A module has it where it has a function `begin(states, **params)`, with `TokenStates` of which no state is read.
    """

    def of_review(self, place: Mapping[str, Any]) -> OfReview:
        """What it finds in a review at a place (`iterate_reviews`); None where it wants nothing of it."""

    def tables(self, found: Iterable[Any]) -> Sequence[pl.DataFrame]:
        """The tables, from what was found in all reviews, in the order of `iterate_reviews`."""


def fed(measure: ReviewMeasure, store: TokenStates) -> Sequence[pl.DataFrame]:
    """The tables of `measure` over all reviews of `store`.

    Raises:
        HomogenizationError: a value is not finite.
    """
    found = (measure.of_review(place)(TokenGram(tokens.astype(np.float64))) for place, tokens in iterate_reviews(store))
    return measure.tables(one for one in found if one is not None)


def _blocks(review_offsets: np.ndarray) -> Iterator[range]:
    """Consecutive reviews of at most `_BLOCK_TOKENS` tokens in all, or one that is longer."""
    first, n_reviews = 0, len(review_offsets) - 1
    while first < n_reviews:
        fits = int(np.searchsorted(review_offsets, review_offsets[first] + _BLOCK_TOKENS, side="right")) - 1
        last = max(fits, first + 1)
        yield range(first, last)
        first = last


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
