"""States in main memory while a model reads: those of chosen tokens, read as a store is."""

from collections.abc import Sequence

import numpy as np
import torch

from homogenization.models.dtypes import torch_dtype
from homogenization.names.points import ALL_TOKENS, FINAL_NORM, layer_name
from homogenization.states.overflow import refuse_overflow
from homogenization.states.reading import Reading
from homogenization.states.sample import chosen
from homogenization.states.stream import Block, Consumer, TokenStates


class HeldStates(TokenStates):
    """What a store would tell, with the states of chosen tokens alone.

    Attributes:
        reading: what the model reads.
        dtype: dtype that a store would have, to which states are rounded.
        device: the model's device.
        rows: int64, ascending: the tokens whose states are buffered.
    """

    def __init__(self, reading: Reading) -> None:
        super().__init__(reading.contents, reading.contents.root_attributes())
        self.reading = reading
        self.dtype, self.device = torch_dtype(self.contents.dtype), reading.model.packed.device
        self._consumers: Sequence[Consumer] = ()
        self._make_room(np.empty(0, dtype=np.int64))

    def stream(self, consumers: Sequence[Consumer], rows: np.ndarray | None = None) -> None:
        """Let the model read, and hand its states to `consumers` as a store would give them.

        Args:
            consumers: who takes them, in the dtype of a store.
            rows: int64, ascending: the tokens whose states are buffered; None for the same as before.

        Raises:
            HomogenizationError: states that a store refuses; a review does not fit into memory; and as consumers do.
        """
        if rows is not None:
            self._make_room(rows)
        self._consumers = consumers
        self.reading.stream([self])

    def add(self, block: Block) -> None:
        """Take the states of a block: buffer those of `rows`, and hand all on in the dtype of a store."""
        refuse_overflow(self.contents, block.array, block.start, block.states, self.contents.largest)
        block = block._replace(states=block.states.to(self.dtype))
        if found := chosen(block, self.rows):
            self._states[block.array][found.start : found.start + len(found.states)] = found.states.to("cpu")
        for consumer in self._consumers:
            consumer.add(block)

    def _make_room(self, rows: np.ndarray) -> None:
        """Make room for the states of the tokens `rows` at every point."""
        self.rows = rows
        # made in no pass, but filled in one
        self._states = {point: torch.empty(len(rows), self.width, dtype=self.dtype) for point in self.contents.points}

    @property
    def bytes_of_token(self) -> int:
        """Bytes that the states of one token take at all points."""
        return len(self._states) * self.width * self.dtype.itemsize

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream of buffered tokens."""
        return self._buffered(layer_name(layer), tokens).float().numpy()

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm of buffered tokens."""
        return self._buffered(FINAL_NORM, tokens).float().numpy() if FINAL_NORM in self._states else None

    def attention_received(self) -> np.ndarray | None:
        """What the model has recorded."""
        return self.reading.received

    def _buffered(self, point: str, tokens: slice | np.ndarray) -> torch.Tensor:
        wanted = np.arange(len(self.token_ids))[tokens] if isinstance(tokens, slice) else tokens
        places = np.searchsorted(self.rows, wanted)
        if len(wanted) and (places.max() == len(self.rows) or (self.rows[places] != wanted).any()):
            raise ValueError(f"{point}: states of tokens that are not buffered")
        return self._states[point][torch.from_numpy(places)]
