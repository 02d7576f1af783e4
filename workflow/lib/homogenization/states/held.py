"""States in main memory while a model reads: those of chosen tokens, read as a store is; and a sample of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from homogenization.models.dtypes import torch_dtype
from homogenization.models.tokens import Tokens
from homogenization.names.points import ALL_TOKENS, FINAL_NORM, layer_name
from homogenization.run.job import job_record
from homogenization.states.long_texts import Texts
from homogenization.states.model import LanguageModel
from homogenization.states.reading import Reading
from homogenization.states.sample import sampled_rows
from homogenization.states.stream import Block, Consumer
from homogenization.states.writer import identity_of, refuse_unstorable, root_attributes, written_store


class HeldStates:
    """What a store would tell, with the states of chosen tokens alone. States are read as float32.

    Attributes:
        reading: what the model reads.
        attributes: those of a store: provenance, model, variant, shard.
        review_ids, review_offsets, token_ids, token_offsets: those of all tokens, as in a store.
        n_blocks, layers, causal, attention_windows: as in a store.
        dtype: dtype that a store would have, to which states are rounded.
        device: the model's device.
        rows: int64, ascending: the tokens whose states are held.
    """

    def __init__(self, reading: Reading, storage_dtype: str) -> None:
        """Take what is known before the model reads, and the dtype: float32, float16, bfloat16, or auto for its own."""
        shape, tokens = reading.shape, reading.tokens
        storage_dtype = reading.attributes["dtype"] if storage_dtype == "auto" else storage_dtype
        self.attributes = root_attributes(shape, reading.review_ids, reading.attributes, storage_dtype)
        self.review_ids, self.tokens = list(reading.review_ids), tokens
        self.review_offsets, self.token_ids = tokens.review_offsets, tokens.token_ids
        self.token_offsets = tokens.token_offsets
        self.n_blocks, self.layers, self.causal = shape.n_blocks, list(shape.layers), shape.causal
        self.attention_windows = shape.attention_windows
        self.dtype, self.device = torch_dtype(storage_dtype), reading.model.packed.device
        self.reading, self._shape, self._storage_dtype = reading, shape, storage_dtype
        self._points = [layer_name(layer) for layer in shape.layers] + [FINAL_NORM] * shape.final_norm
        self._consumers: Sequence[Consumer] = ()
        self.hold(np.empty(0, dtype=np.int64))

    @classmethod
    def of_texts(
        cls, model: LanguageModel, texts: Texts, entry: Mapping[str, Any], identity: Mapping[str, str], **storage: Any
    ) -> "HeldStates":
        """The states of texts that a model is about to read.

        Args:
            model: language model.
            texts: the texts.
            entry: entry of `models`: `token_budget`.
            identity: `model`, `variant` and `shard`.
            storage: `dtype` of a store, and the further arguments of `Reading`.

        Raises:
            HomogenizationError: as in `Reading`.
        """
        dtype = storage.pop("dtype")
        return cls(Reading(model, texts, identity, entry["token_budget"], **storage), dtype)

    def stream(self, consumers: Sequence[Consumer], rows: np.ndarray | None = None) -> None:
        """Let the model read, and hand its states to `consumers` as a store would give them.

        Args:
            consumers: who takes them, in the dtype of a store.
            rows: int64, ascending: the tokens whose states are held afterwards; None for those that are held.

        Raises:
            HomogenizationError: states that a store refuses; a review does not fit into memory; and as consumers do.
        """
        if rows is not None:
            self.hold(rows)
        self._consumers = consumers
        self.reading.stream([self])

    def add(self, block: Block) -> None:
        """Take the states of a block: hold those of `rows`, and hand all on in the dtype of a store."""
        about = (block.array, block.start, self.review_ids, self.tokens, identity_of(self.attributes))
        refuse_unstorable(block.states, self.dtype, *about)
        block = block._replace(states=block.states.to(self.dtype))
        if chosen := _chosen(block, self.rows):
            held = self._states[block.array]
            held[chosen.start : chosen.start + len(chosen.states)] = chosen.states.to("cpu")
        for consumer in self._consumers:
            consumer.add(block)

    def hold(self, rows: np.ndarray) -> None:
        """Make room for the states of the tokens `rows`, int64, ascending, at every point."""
        self.rows = rows
        # made in no pass, but filled in one
        self._states = {point: torch.empty(len(rows), self._shape.width, dtype=self.dtype) for point in self._points}

    @property
    def bytes_of_token(self) -> int:
        """Bytes that the states of one token take at all points."""
        return len(self._points) * self._shape.width * self.dtype.itemsize

    def stored(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> torch.Tensor:
        """The residual stream (tokens, width) of tokens that are held, in the dtype of a store."""
        return self._held(layer_name(layer), tokens)

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream (tokens, width), float32, of tokens that are held; see `StateStore.residual_stream`."""
        return self.stored(layer, tokens).float().numpy()

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm of tokens that are held; None where the architecture has no such norm."""
        return self._held(FINAL_NORM, tokens).float().numpy() if self._shape.final_norm else None

    def attention_received(self) -> np.ndarray | None:
        """Attention received, float32 (blocks, tokens), of all tokens; None where it was not recorded."""
        return self.reading.received

    @contextmanager
    def sampled(self, path: str | Path, sample_tokens: int, seed: int, chunk_tokens: int) -> Iterator[Consumer]:
        """Yield the consumer that writes the sample that `states.sample.sample_states` would write of a store.

        Raises:
            HomogenizationError: the disk is full.
        """
        rows, offsets = sampled_rows(self.review_ids, self.review_offsets, sample_tokens, seed)
        tokens = _SampledTokens(
            self.token_ids[rows],
            self.token_offsets[rows],
            offsets,
            self.tokens.tokens_before_truncation,
            self.tokens.positions[rows],
        )
        attributes = {**self.reading.attributes, "sampled_tokens": sample_tokens, "sampled_by": job_record()}
        about = (self._shape, self.review_ids, tokens, attributes, self._storage_dtype, chunk_tokens)
        with written_store(path, *about) as writer:
            yield _Sampler(writer, rows)
            if (received := self.attention_received()) is not None:
                writer.write_attention(received[:, rows])

    def _held(self, point: str, tokens: slice | np.ndarray) -> torch.Tensor:
        wanted = np.arange(len(self.token_ids))[tokens] if isinstance(tokens, slice) else tokens
        places = np.searchsorted(self.rows, wanted)
        if len(wanted) and (places.max() == len(self.rows) or (self.rows[places] != wanted).any()):
            raise ValueError(f"{point}: states of tokens that are not held")
        return self._states[point][torch.from_numpy(places)]


@dataclass(frozen=True)
class _Sampler:
    """Hands on the tokens `rows`, int64, ascending."""

    consumer: Consumer
    rows: np.ndarray

    def add(self, block: Block) -> None:
        """Hand on those of a block, numbered among `rows`."""
        if chosen := _chosen(block, self.rows):
            self.consumer.add(chosen)


def _chosen(block: Block, rows: np.ndarray) -> Block | None:
    """The tokens of a block that are among `rows`, numbered among them; None without any."""
    first, last = np.searchsorted(rows, [block.start, block.start + len(block.states)]).tolist()
    if first == last:
        return None
    places = torch.from_numpy(rows[first:last] - block.start).to(block.states.device)
    return block._replace(start=first, states=block.states[places])


@dataclass(frozen=True)
class _SampledTokens(Tokens):
    """Some tokens of each review, with their positions in it, int32 (tokens,)."""

    sampled_positions: np.ndarray

    @property
    def positions(self) -> np.ndarray:
        return self.sampled_positions
