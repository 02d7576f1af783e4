"""The store of hidden states: a Zarr v3 group in a zip file, with an array for each layer, chunked over tokens.

Arrays, with their dimensions:

    residual_stream/{layer}  (token, width)          for each stored layer: 0 before the first block, l after block l
    final_norm               (token, width)          where a norm follows the last block
    attention_received       (block, token)          float32, where attention was measured
    attention_uniform        (block, token)          float64, likewise: received under uniform attention
    attention_first          (review, block, head)   float32, likewise: mean attention to the first token
    token_ids, positions     (token,)
    token_offsets            (token, end)            characters in the text; (0, 0) for a token outside of it
    review_offsets           (boundary,)             where each review's tokens begin and end
    n_words                  (review,)
    loss, entropy, divergence  (review,)               float64, of the predictions; NaN without a language-model head

Attributes hold the shape and the provenance.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import zarr
from zarr.codecs import BloscCodec
from zarr.storage import ZipStore

from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, ATTENTION_RECEIVED, FINAL_NORM, RESIDUAL_STREAM, layer_name
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole

ATTENTION_FIRST, ATTENTION_UNIFORM = "attention_first", "attention_uniform"
PREDICTIONS = ("loss", "entropy", "divergence")
_DIMENSIONS = {
    ATTENTION_RECEIVED: ("block", "token"),
    ATTENTION_UNIFORM: ("block", "token"),
    ATTENTION_FIRST: ("review", "block", "head"),
    "token_ids": ("token",),
    "positions": ("token",),
    "token_offsets": ("token", "end"),
    "review_offsets": ("boundary",),
    "n_words": ("review",),
    **dict.fromkeys(PREDICTIONS, ("review",)),
}
_STATES = ("token", "width")
_BFLOAT16_BITS = "bfloat16 bits in uint16"  # Zarr has no bfloat16
_CHUNK_TOKENS = 4096


class StateStore:
    """A store open for reading. States are read as float32, whatever their dtype in the store.

    `attributes` are provenance, `model`, `variant`, `shard` and `storage_dtype`; other attributes bear the names of the
    arrays above, or of what stands in `attributes`: `review_ids`, `n_blocks`, the stored `layers` (ascending), `width`.
    """

    def __init__(self, group: zarr.Group) -> None:
        self._group = group
        self.attributes: dict[str, Any] = dict(group.attrs)
        self.review_ids: list[str] = self.attributes["review_ids"]
        self.n_blocks, self.width, self.layers = (self.attributes[name] for name in ("n_blocks", "width", "layers"))
        self.review_offsets, self.token_ids, self.token_offsets, self.positions = map(
            self.read, ("review_offsets", "token_ids", "token_offsets", "positions")
        )

    def residual_stream(self, layer: int, tokens: slice = ALL_TOKENS) -> np.ndarray:
        """The residual stream (tokens, width), float32, at one of `layers`; of consecutive tokens.

        Raises:
            ValueError: the layer is not stored.
        """
        if layer not in self.layers:
            raise ValueError(f"layer {layer} is not among the stored ones, {self.layers}")
        return self._read_states(layer_name(layer), tokens)

    def final_norm(self, tokens: slice = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm (tokens, width), float32; None where no norm follows the last block."""
        return self._read_states(FINAL_NORM, tokens) if FINAL_NORM in self._group else None

    def attention(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Attention received, float32 (blocks, tokens); the same under uniform attention, float64; mean attention to
        the first token, float32 (reviews, blocks, heads). None where it was not measured.
        """
        arrays = (ATTENTION_RECEIVED, ATTENTION_UNIFORM, ATTENTION_FIRST)
        return tuple(map(self.read, arrays)) if ATTENTION_RECEIVED in self._group else None

    def points(self) -> Iterator[tuple[str, int, np.ndarray]]:
        """Point, layer and states (tokens, width) of each stored layer; the one after the final norm comes last.

        One layer is in memory at a time.
        """
        for layer in self.layers:
            yield RESIDUAL_STREAM, layer, self.residual_stream(layer)
        if (after_norm := self.final_norm()) is not None:
            yield FINAL_NORM, self.n_blocks, after_norm

    def read(self, name: str, first_axis: slice = ALL_TOKENS) -> np.ndarray:
        """The array `name` as stored, or a part of its first axis; bfloat16 appears as its bits in uint16."""
        return self._group[name].oindex[first_axis]

    def _read_states(self, name: str, tokens: slice) -> np.ndarray:
        states = self.read(name, tokens)
        if self._group[name].attrs.get("stored_as") == _BFLOAT16_BITS:
            states = (states.astype(np.uint32) << 16).view(np.float32)
        return states.astype(np.float32, copy=False)


def identity_of(attributes: Mapping[str, Any]) -> str:
    """Model, variant and shard for messages."""
    return ", ".join(f"{name} {attributes[name]}" for name in ("model", "variant", "shard") if name in attributes)


@contextmanager
def open_store(path: str | Path) -> Iterator[StateStore]:
    """Open a store for reading; a `HomogenizationError` says that there is none at `path`."""
    if not is_zipfile(path):
        raise HomogenizationError(f"{path} is no store of states: there is no such file, or it is no whole zip file.")
    with closing(ZipStore(path, mode="r")) as store:
        yield StateStore(zarr.open_group(store, mode="r"))


def write_store(
    path: str | Path, tokens: Tokens, arrays: Mapping[str, np.ndarray], attributes: Mapping[str, Any]
) -> None:
    """Write a store, `*.zarr.zip`; the file gets its name when it is complete.

    `arrays` are those beside the `tokens`, by name; states in the dtype of the store, of bfloat16 the bits in uint16.
    """
    of_tokens = ("token_ids", "positions", "token_offsets", "review_offsets")
    arrays = {**arrays, **{name: getattr(tokens, name) for name in of_tokens}}
    n_tokens = max(len(tokens.token_ids), 1)  # a shard without reviews has arrays without chunks
    # chunks of equal size: Zarr would pad a short last one
    chunk = math.ceil(n_tokens / math.ceil(n_tokens / _CHUNK_TOKENS))
    with written_whole(path) as partial, closing(ZipStore(partial, mode="w")) as store:
        group = zarr.create_group(store, attributes=dict(attributes))
        for name, values in arrays.items():
            dimensions = _DIMENSIONS.get(name, _STATES)
            bits = dimensions == _STATES and values.dtype == np.uint16
            shape = tuple(max(length, 1) for length in values.shape)
            array = group.create_array(
                name,
                shape=values.shape,
                chunks=(chunk, shape[1]) if dimensions == _STATES else shape,
                dimension_names=dimensions,
                dtype=values.dtype,
                # float32 and float16 don't compress; bfloat16 shrinks by a quarter and is read faster
                compressors=BloscCodec(cname="lz4", shuffle="bitshuffle") if bits else None,
                attributes={"stored_as": _BFLOAT16_BITS} if bits else {},
                config={"write_empty_chunks": True},
            )
            array[...] = values
