"""The store of hidden states: a Zarr v3 group in a zip file, with one array for each layer, read as float32.

Arrays: `residual_stream/{layer}` (tokens, width) for each stored layer, `final_norm` (tokens, width) if the
architecture has such a norm, `attention_received` (blocks, tokens) if it was recorded, and the tokens. Attributes hold
the provenance.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.storage import ZipStore

from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, ATTENTION_RECEIVED, FINAL_NORM, layer_name
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import damage
from homogenization.states.stream import SCHEMA_VERSION, Contents, StoreShape, TokenStates

BFLOAT16_BITS = "bfloat16 bits in uint16"  # Zarr has no bfloat16
# names of the dimensions of arrays, by which other libraries tell them apart
_DIMENSIONS = {
    "review_offsets": ("boundary",),
    "token_ids": ("token",),
    "positions": ("token",),
    "token_offsets": ("token", "end"),
    "tokens_before_truncation": ("review",),
    ATTENTION_RECEIVED: ("block", "token"),
}
TOKEN_ARRAYS = tuple(name for name in _DIMENSIONS if name != ATTENTION_RECEIVED)


def dimensions(name: str) -> tuple[str, ...]:
    """Names of the dimensions of an array of a store."""
    return _DIMENSIONS.get(name, ("token", "width"))


class StateStore(TokenStates):
    """A store open for reading. States are read as float32, whatever their dtype in the store.

    Attributes:
        positions: position of each token in its review, int32 (tokens,).
        tokens_before_truncation: int64 (reviews,).
    """

    def __init__(self, path: Path, group: zarr.Group) -> None:
        self._path, self._group = path, group
        attributes: dict[str, Any] = dict(group.attrs)
        if attributes["schema_version"] != SCHEMA_VERSION:
            raise HomogenizationError(
                f"{path}: a store of schema version {attributes['schema_version']}, and this version of the "
                f"workflow reads {SCHEMA_VERSION}. Delete the file and run the same command again."
            )
        of_shape = {field.name: attributes[field.name] for field in fields(StoreShape)}
        shape = StoreShape(**of_shape | {name: tuple(of_shape[name]) for name in ("layers", "attention_windows")})
        self._refuse_missing_parts(shape)
        arrays = {name: self.read(name) for name in TOKEN_ARRAYS}
        self.positions, self.tokens_before_truncation = arrays.pop("positions"), arrays["tokens_before_truncation"]
        tokens = Tokens(**arrays, sampled_positions=self.positions)
        dtype = attributes["storage_dtype"]
        super().__init__(Contents(shape, attributes["review_ids"], tokens, attributes, dtype), attributes)

    @property
    def chunk_tokens(self) -> int:
        """Number of tokens in a chunk of states."""
        return self._group[layer_name(self.layers[0])].chunks[0]

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
        with _damage_named(self._path):
            return self._group[name].oindex[first_axis]

    def _refuse_missing_parts(self, shape: StoreShape) -> None:
        """Raise unless each array has all its chunks: Zarr silently reads a missing chunk as zeros."""
        states = [*map(layer_name, shape.layers), *[FINAL_NORM] * shape.final_norm]
        for name in (*states, *[ATTENTION_RECEIVED] * shape.attention_received, *TOKEN_ARRAYS):
            if self._group[name].nchunks_initialized != self._group[name].nchunks:
                raise ValueError(f"chunks of {name} are missing")

    def _read_states(self, name: str, tokens: slice | np.ndarray) -> np.ndarray:
        states = self.read(name, tokens)
        if self._group[name].attrs.get("stored_as") == BFLOAT16_BITS:
            states = states.astype(np.uint32)
            states <<= 16
            states = states.view(np.float32)
        with _damage_named(self._path):
            if not np.isfinite(states).all():
                raise ValueError(f"{name} has numbers that are not finite, which are never stored")
        return states.astype(np.float32, copy=False)


@contextmanager
def open_store(path: str | Path) -> Iterator[StateStore]:
    """Open a store for reading.

    Raises:
        OSError: the file can't be read.
        HomogenizationError: the file is gone, or it is damaged or incomplete and was moved aside. Some damage shows
            only when an array is read.
    """
    path = Path(path)
    try:
        path.open("rb").close()
    except FileNotFoundError as error:
        raise damage(path, error) from error
    store = ZipStore(path, mode="r")
    try:
        with _damage_named(path):
            opened = StateStore(path, zarr.open_group(store, mode="r"))
        yield opened
    finally:
        if store._is_open:
            store.close()


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Move a damaged file aside, and turn any exception of zipfile, zlib, json or Zarr into one kind of error.

    Of several jobs that find the damage at the same time, one moves the file; for the others it is gone.
    """
    try:
        yield
    except (HomogenizationError, MemoryError):
        raise
    except Exception as error:  # a flipped byte may surface as any of a dozen exceptions
        if isinstance(error, FileNotFoundError) and not path.exists():  # another job has just moved it aside
            raise damage(path, error) from error
        # an error of the disk or network tells nothing about the contents, except EINVAL: a place outside of the file
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise damage(path, str(error).strip() or type(error).__name__) from error
