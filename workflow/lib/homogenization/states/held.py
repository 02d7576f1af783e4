"""States in main memory while a model reads: those of chosen tokens, read as a store is; and a sample of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from homogenization.models.dtypes import torch_dtype
from homogenization.names.points import ALL_TOKENS, FINAL_NORM, layer_name
from homogenization.states.reading import Reading
from homogenization.states.sample import Sample, chosen, sampled
from homogenization.states.stream import Block, Consumer
from homogenization.states.writer import refuse_unstorable


class HeldStates:
    """What a store would tell, with the states of chosen tokens alone. States are read as float32.

    Attributes:
        reading: what the model reads.
        attributes: those of a store: provenance, model, variant, shard.
        review_ids, review_offsets, token_ids, token_offsets: those of all tokens, as in a store.
        n_blocks, layers, causal, attention_windows: as in a store.
        dtype: dtype that a store would have, to which states are rounded.
        device: the model's device.
        rows: int64, ascending: the tokens whose states are buffered.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading, self._contents = reading, reading.contents
        shape, tokens = self._contents.shape, self._contents.tokens
        self.attributes, self.review_ids = self._contents.root_attributes(), list(reading.review_ids)
        self.review_offsets, self.token_ids = tokens.review_offsets, tokens.token_ids
        self.token_offsets = tokens.token_offsets
        self.n_blocks, self.layers, self.causal = shape.n_blocks, list(shape.layers), shape.causal
        self.attention_windows = shape.attention_windows
        self.dtype, self.device = torch_dtype(self._contents.dtype), reading.model.packed.device
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
        refuse_unstorable(self._contents, block.array, block.start, block.states)
        block = block._replace(states=block.states.to(self.dtype))
        if found := chosen(block, self.rows):
            self._states[block.array][found.start : found.start + len(found.states)] = found.states.to("cpu")
        for consumer in self._consumers:
            consumer.add(block)

    def _make_room(self, rows: np.ndarray) -> None:
        """Make room for the states of the tokens `rows` at every point."""
        self.rows, width = rows, self._contents.shape.width
        # made in no pass, but filled in one
        self._states = {point: torch.empty(len(rows), width, dtype=self.dtype) for point in self._contents.points}

    @property
    def bytes_of_token(self) -> int:
        """Bytes that the states of one token take at all points."""
        return len(self._states) * self._contents.shape.width * self.dtype.itemsize

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream (tokens, width), float32, of buffered tokens; see `StateStore.residual_stream`."""
        return self._buffered(layer_name(layer), tokens).float().numpy()

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm of buffered tokens; None where the architecture has no such norm."""
        return self._buffered(FINAL_NORM, tokens).float().numpy() if FINAL_NORM in self._states else None

    def attention_received(self) -> np.ndarray | None:
        """Attention received, float32 (blocks, tokens), of all tokens; None where it was not recorded."""
        return self.reading.received

    @contextmanager
    def sampled(self, sample: Sample) -> Iterator[Consumer]:
        """Yield the consumer that writes the sample that `states.sample.sample_states` would write of a store.

        Raises:
            HomogenizationError: the disk is full.
        """
        with sampled(self._contents, sample) as sampler:
            yield sampler
            sampler.write_attention(self.attention_received())

    def _buffered(self, point: str, tokens: slice | np.ndarray) -> torch.Tensor:
        wanted = np.arange(len(self.token_ids))[tokens] if isinstance(tokens, slice) else tokens
        places = np.searchsorted(self.rows, wanted)
        if len(wanted) and (places.max() == len(self.rows) or (self.rows[places] != wanted).any()):
            raise ValueError(f"{point}: states of tokens that are not buffered")
        return self._states[point][torch.from_numpy(places)]
