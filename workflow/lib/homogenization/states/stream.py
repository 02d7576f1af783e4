"""The stream of hidden states: block by block, from a store or from a model that reads (`states.reading`).

It imports no library that runs a model: measures of stores, and tables, load without one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, FINAL_NORM, RESIDUAL_STREAM, layer_name
from homogenization.run.errors import HomogenizationError

SCHEMA_VERSION = 3  # of a store

_BLOCK_TOKENS = 16_384  # 0.27 GB of float32 at a width of 4,096; a chunk of the store at each end is read twice


class TokenStates:
    """The states of one model, variant and shard, as measures read them: those of a store, or in main memory.

    All are finite: a reader refuses others.

    Attributes:
        contents: what is known of them.
        attributes: those of a store's root group: provenance, `model`, `variant`, `shard`.
        review_ids: names of the reviews.
        review_offsets: int64 (reviews + 1,), where each review's tokens begin and end.
        token_ids: int64 (tokens,).
        token_offsets: character spans, int32 (tokens, 2); (0, 0) for a token outside of the text.
        n_blocks: blocks of the model.
        layers: the layers of the residual stream that can be read, ascending.
        width: width of the residual stream.
        causal: whether the model's attention is causal.
        attention_windows: by block, the distance in tokens from which a query no longer sees a key; None for no limit.
    """

    def __init__(self, contents: "Contents", attributes: Mapping[str, Any]) -> None:
        shape, tokens = contents.shape, contents.tokens
        self.contents, self.attributes, self.review_ids = contents, attributes, list(contents.review_ids)
        self.review_offsets, self.token_ids = tokens.review_offsets, tokens.token_ids
        self.token_offsets = tokens.token_offsets
        self.n_blocks, self.layers, self.width = shape.n_blocks, list(shape.layers), shape.width
        self.causal, self.attention_windows = shape.causal, list(shape.attention_windows)

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream (tokens, width), float32: layer 0 before the first block, l after block l.

        Args:
            layer: one of `layers`.
            tokens: consecutive tokens, or an int64 array of their numbers in the store.
        """
        raise NotImplementedError

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm (tokens, width), float32; None where the architecture has no such norm."""
        raise NotImplementedError

    def attention_received(self) -> np.ndarray | None:
        """Attention received, float32 (blocks, tokens), of all tokens; None where it was not recorded."""
        raise NotImplementedError


@dataclass(frozen=True)
class StoreShape:
    """Contents of a store: blocks and what their queries see, width and stored layers of the residual stream, and
    optional arrays.
    """

    n_blocks: int
    width: int
    causal: bool
    attention_windows: tuple[int | None, ...]
    final_norm: bool
    attention_received: bool
    layers: tuple[int, ...]


@dataclass(frozen=True)
class Contents:
    """What is known of a store before its numbers.

    Attributes:
        shape: points and layers.
        review_ids: names of the reviews, in the order of `tokens`.
        tokens: tokens of all reviews, end to end.
        attributes: provenance, JSON; `model`, `variant` and `shard` appear in messages.
        dtype: dtype of the states: float32, float16 or bfloat16.
    """

    shape: StoreShape
    review_ids: Sequence[str]
    tokens: Tokens
    attributes: Mapping[str, Any]
    dtype: str

    @property
    def points(self) -> list[str]:
        """Names of the arrays of states."""
        return [layer_name(layer) for layer in self.shape.layers] + [FINAL_NORM] * self.shape.final_norm

    @property
    def largest(self) -> float:
        """The largest number that the dtype is sure to hold: that of float16, or any finite one of a model."""
        return 65_504.0 if self.dtype == "float16" else math.inf

    @property
    def identity(self) -> str:
        """Model, variant and shard for messages."""
        named = (name for name in ("model", "variant", "shard") if name in self.attributes)
        return ", ".join(f"{name} {self.attributes[name]}" for name in named)

    def root_attributes(self) -> dict[str, Any]:
        """The attributes of the store: shape, reviews, the job's record, and the provenance."""
        return {
            "schema_version": SCHEMA_VERSION,
            "review_ids": list(self.review_ids),
            **asdict(self.shape),
            "layers": list(self.shape.layers),
            "attention_windows": list(self.shape.attention_windows),
            "storage_dtype": self.dtype,
            **self.attributes,
        }


class Block(NamedTuple):
    """States of consecutive reviews at one point.

    Attributes:
        point: `residual_stream` or `final_norm`.
        layer: layer of the residual stream; the number of blocks after the final norm.
        start: number of the first token.
        states: (tokens, width), an array or a tensor, which will be overwritten.
    """

    point: str
    layer: int
    start: int
    states: Any

    @property
    def array(self) -> str:
        """Name of the point's array in a store."""
        return FINAL_NORM if self.point == FINAL_NORM else layer_name(self.layer)

    def reviews(self, states: TokenStates) -> Iterator[tuple[dict[str, Any], Any]]:
        """The place of each review, which are columns of a table (review_id, point, layer, n_tokens, width), and its
        states (n_tokens, width).
        """
        offsets = states.review_offsets
        first, last = np.searchsorted(offsets, [self.start, self.start + len(self.states)]).tolist()
        for review in range(first, last):
            of_review = self.states[offsets[review] - self.start : offsets[review + 1] - self.start]
            n_tokens, width = of_review.shape
            about = {"review_id": states.review_ids[review], "point": self.point, "layer": self.layer}
            yield {**about, "n_tokens": n_tokens, "width": width}, of_review


class Consumer(Protocol):
    """Who takes the states of a walk over all reviews."""

    def add(self, block: Block) -> None:
        """Take the states of a block. After a pass that was broken off, some come again and have to count once."""


def stream(states: TokenStates) -> Iterator[Block]:
    """The blocks of all states of a store, point by point; a few reviews at one layer are in memory.

    Layer 0 is the residual stream after the embedding, layer l after block l; those that are stored are read. The
    state after the final norm, where it was stored, comes last.
    """
    readers = [(RESIDUAL_STREAM, layer, partial(states.residual_stream, layer)) for layer in states.layers]
    for point, layer, read in [*readers, (FINAL_NORM, states.n_blocks, states.final_norm)]:
        for reviews in _blocks(states.review_offsets):
            offsets = states.review_offsets[reviews.start : reviews.stop + 1]
            of_block = read(slice(int(offsets[0]), int(offsets[-1])))
            if of_block is None:
                return
            yield Block(point, layer, int(offsets[0]), of_block)
        print(f"{point}, layer {layer}: {len(states.review_ids)} reviews", flush=True)


def _blocks(review_offsets: np.ndarray) -> Iterator[range]:
    """Consecutive reviews of at most `_BLOCK_TOKENS` tokens in all, or one that is longer."""
    first, n_reviews = 0, len(review_offsets) - 1
    while first < n_reviews:
        fits = int(np.searchsorted(review_offsets, review_offsets[first] + _BLOCK_TOKENS, side="right")) - 1
        last = max(fits, first + 1)
        yield range(first, last)
        first = last


def chosen_layers(layers: Sequence[int] | None, n_blocks: int, model: str) -> tuple[int, ...]:
    """The layers of the residual stream in `layers`, ascending; negative ones count from the last, None means all.

    Raises:
        HomogenizationError: the model has no such layer.
    """
    n_layers = n_blocks + 1
    for layer in layers or ():
        if not -n_layers <= layer < n_layers:
            raise HomogenizationError(
                f"states.layers: {layer} is no layer of the model {model}, which has {n_blocks} blocks. Allowed: 0 "
                f"(before the first block) to {n_blocks}, or -1 (after the last block) down to {-n_layers}."
            )
    return tuple(range(n_layers)) if layers is None else tuple(sorted({layer % n_layers for layer in layers}))
