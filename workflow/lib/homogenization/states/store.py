"""The store of hidden states: a Zarr v3 group in a zip file, with one array for each layer, read as float32.

Arrays: `residual_stream/{layer}` (tokens, width) for each stored layer, `final_norm` (tokens, width) if the
architecture has such a norm, `attention_received` (blocks, tokens) if it was recorded, and the tokens. Attributes hold
the provenance.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import zarr
from zarr.codecs import BloscCodec
from zarr.storage import ZipStore

from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, ATTENTION_RECEIVED, FINAL_NORM, layer_name
from homogenization.run.files import damage, written_whole
from homogenization.states.stream import Contents, StoreShape, TokenStates

_BFLOAT16_BITS = "bfloat16 bits in uint16"  # Zarr has no bfloat16
_CHUNK_TOKENS = 4096
# names of the dimensions of arrays, by which other libraries tell them apart
_DIMENSIONS = {
    "review_offsets": ("boundary",),
    "token_ids": ("token",),
    "positions": ("token",),
    "token_offsets": ("token", "end"),
    ATTENTION_RECEIVED: ("block", "token"),
}
TOKEN_ARRAYS = tuple(name for name in _DIMENSIONS if name != ATTENTION_RECEIVED)


class StateStore(TokenStates):
    """A store open for reading. States are read as float32, whatever their dtype in the store.

    Attributes:
        positions: position of each token in its review, int32 (tokens,).
    """

    def __init__(self, group: zarr.Group) -> None:
        self._group = group
        attributes: dict[str, Any] = dict(group.attrs)
        of_shape = {field.name: attributes[field.name] for field in fields(StoreShape)}
        shape = StoreShape(**of_shape | {name: tuple(of_shape[name]) for name in ("layers", "attention_windows")})
        arrays = {name: self.read(name) for name in TOKEN_ARRAYS}
        self.positions = arrays.pop("positions")
        dtype = attributes["storage_dtype"]
        super().__init__(Contents(shape, attributes["review_ids"], Tokens(**arrays), attributes, dtype), attributes)

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream; only the states of these tokens are in memory, and a few chunks.

        Raises:
            ValueError: the layer is not stored.
        """
        if layer not in self.layers:
            raise ValueError(f"layer {layer} is not among the stored ones, {self.layers}")
        return self._read_states(layer_name(layer), tokens)

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm."""
        return self._read_states(FINAL_NORM, tokens) if self.contents.shape.final_norm else None

    def attention_received(self) -> np.ndarray | None:
        """What was recorded."""
        return self.read(ATTENTION_RECEIVED) if self.contents.shape.attention_received else None

    def read(self, name: str, first_axis: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The array `name` as stored, or the chosen part of its first axis; bfloat16 appears as its bits in uint16."""
        return self._group[name].oindex[first_axis]

    def _read_states(self, name: str, tokens: slice | np.ndarray) -> np.ndarray:
        states = self.read(name, tokens)
        if self._group[name].attrs.get("stored_as") == _BFLOAT16_BITS:
            states = states.astype(np.uint32)
            states <<= 16
            states = states.view(np.float32)
        return states.astype(np.float32, copy=False)


@contextmanager
def open_store(path: str | Path) -> Iterator[StateStore]:
    """Open a store for reading.

    Raises:
        HomogenizationError: the file is damaged or cut short.
    """
    try:
        store = ZipStore(path, mode="r")
        opened = StateStore(zarr.open_group(store, mode="r"))
    except (OSError, KeyError, ValueError, BadZipFile) as error:
        raise damage(path, error) from error
    with closing(store):
        yield opened


def write_store(
    path: str | Path, contents: Contents, states: Mapping[str, np.ndarray], received: np.ndarray | None
) -> None:
    """Write a store; the file gets its name when it is complete.

    Args:
        path: file of the store, `*.zarr.zip`.
        contents: what is known of it before its numbers.
        states: (tokens, width) of each of `contents.points`, in the dtype of `contents`; uint16 bits of bfloat16.
        received: attention received, float32 (blocks, tokens); None where it was not recorded.
    """
    stored_as = {"stored_as": _BFLOAT16_BITS} if contents.dtype == "bfloat16" else {}
    # float32 and float16 don't compress; bfloat16 shrinks by a quarter and is read faster
    compressors = BloscCodec(cname="lz4", shuffle="bitshuffle") if stored_as else None
    n_tokens = max(len(contents.tokens.token_ids), 1)  # a shard without reviews has arrays without chunks
    # chunks of equal size: Zarr would pad a short last one
    chunk = math.ceil(n_tokens / math.ceil(n_tokens / _CHUNK_TOKENS))
    with written_whole(path) as partial, closing(ZipStore(partial, mode="w")) as store:
        group = zarr.create_group(store, attributes=contents.root_attributes())
        for point in contents.points:
            chunks = (chunk, contents.shape.width)
            _write(group, point, states[point], chunks, compressors=compressors, attributes=stored_as)
        if received is not None:
            _write(group, ATTENTION_RECEIVED, received, (1, n_tokens))
        for name in TOKEN_ARRAYS:
            _write(group, name, getattr(contents.tokens, name))


def _write(
    group: zarr.Group,
    name: str,
    values: np.ndarray,
    chunks: tuple[int, ...] | None = None,
    **options: Any,
) -> None:
    """Write an array, in a single chunk where `chunks` is None."""
    array = group.create_array(
        name,
        shape=values.shape,
        chunks=chunks or tuple(max(length, 1) for length in values.shape),
        dimension_names=_DIMENSIONS.get(name, ("token", "width")),
        dtype=values.dtype,
        config={"write_empty_chunks": True},
        **{"compressors": None, **options},
    )
    array[...] = values
