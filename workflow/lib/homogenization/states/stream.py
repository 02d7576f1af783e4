"""The states of one model, variant and shard, as measures read them: from a store, or in main memory.

It imports no library that runs a model: measures of stores, and tables, load without one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, FINAL_NORM, RESIDUAL_STREAM, layer_name
from homogenization.run.errors import HomogenizationError


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
    def identity(self) -> str:
        """Model, variant and shard for messages."""
        named = (name for name in ("model", "variant", "shard") if name in self.attributes)
        return ", ".join(f"{name} {self.attributes[name]}" for name in named)

    def root_attributes(self) -> dict[str, Any]:
        """The attributes of the store: shape, reviews, the job's record, and the provenance."""
        return {
            "review_ids": list(self.review_ids),
            **asdict(self.shape),
            "layers": list(self.shape.layers),
            "attention_windows": list(self.shape.attention_windows),
            "storage_dtype": self.dtype,
            **self.attributes,
        }


def points_of(states: TokenStates) -> Iterator[tuple[str, int, np.ndarray]]:
    """Point, layer and states (tokens, width), float32, of each stored layer; that after the final norm comes last.

    Layer 0 is the residual stream after the embedding, layer l after block l. One layer is in memory at a time.
    """
    for layer in states.layers:
        yield RESIDUAL_STREAM, layer, states.residual_stream(layer)
    if (after_norm := states.final_norm()) is not None:
        yield FINAL_NORM, states.n_blocks, after_norm


def stream(states: TokenStates) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Each review at each point: its place, columns of a table, and its states (n_tokens, width), float32."""
    for point, layer, of_layer in points_of(states):
        for review_id, (start, stop) in zip(states.review_ids, pairwise(states.review_offsets), strict=True):
            yield place_of(review_id, point, layer, of_layer[start:stop]), of_layer[start:stop]
        print(f"{point}, layer {layer}: {len(states.review_ids)} reviews", flush=True)


def place_of(review_id: str, point: str, layer: int, states: Any) -> dict[str, Any]:
    """The columns that name the states (n_tokens, width) of a review: review_id, point, layer, n_tokens, width."""
    n_tokens, width = states.shape
    return {"review_id": review_id, "point": point, "layer": layer, "n_tokens": n_tokens, "width": width}


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
