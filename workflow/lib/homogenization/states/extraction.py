"""Extraction: a model reads reviews, and the residual stream of each layer and the attention received are stored."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from homogenization.models.dtypes import torch_dtype
from homogenization.names.points import ALL_TOKENS, FINAL_NORM, layer_name
from homogenization.states.network import forward, refuse_not_finite
from homogenization.states.reading import Reading
from homogenization.states.store import write_store
from homogenization.states.stream import Contents, TokenStates


class HeldStates(TokenStates):
    """The states of a shard in main memory.

    Attributes:
        arrays: states (tokens, width) of each point, in the dtype of the store.
        received: attention received, float32 (blocks, tokens); None where it is not recorded.
    """

    def __init__(self, contents: Contents) -> None:
        super().__init__(contents, contents.root_attributes())
        n_tokens, dtype = len(self.token_ids), torch_dtype(contents.dtype)
        self.arrays = {point: torch.empty(n_tokens, self.width, dtype=dtype) for point in contents.points}
        recorded = contents.shape.attention_received
        self.received = np.empty((self.n_blocks, n_tokens), dtype=np.float32) if recorded else None

    def put(self, point: str, review: int, states: torch.Tensor) -> None:
        """Keep the states (n, width) of a review.

        Raises:
            HomogenizationError: they are not finite, or beyond what the dtype of the store can hold.
        """
        start, stop = self.review_offsets[review : review + 2].tolist()
        kept = self.arrays[point][start:stop]
        kept.copy_(states)
        refuse_not_finite(kept, f"{self.contents.identity}, {point}, review {self.review_ids[review]}")

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream."""
        return self.arrays[layer_name(layer)][tokens].float().numpy()

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states after the final norm."""
        return self.arrays[FINAL_NORM][tokens].float().numpy() if FINAL_NORM in self.arrays else None

    def attention_received(self) -> np.ndarray | None:
        """What was recorded."""
        return self.received


def read_states(reading: Reading) -> HeldStates:
    """Let a model read, one review at a time, and hold its states.

    Raises:
        HomogenizationError: states that are not finite.
    """
    states, shape = HeldStates(reading.contents), reading.shape

    def run_pass(review: int, token_ids: Sequence[int]) -> None:
        def take(layer: int, of_layer: torch.Tensor) -> None:
            if layer in shape.layers:
                states.put(layer_name(layer), review, of_layer)

        result = forward(reading.model.transformer, token_ids, take)
        if shape.final_norm:
            states.put(FINAL_NORM, review, result.last_hidden_state)
        if states.received is not None:
            states.received[:, reading.tokens.span(range(review, review + 1))] = result.received.cpu()

    reading.each_review(run_pass)
    return states


def extract(reading: Reading, path: str | Path) -> dict[str, Any]:
    """Let a model read, and write the store of its states at `path`, whole.

    Args:
        reading: the model and what it reads.
        path: file of the store, `*.zarr.zip`.

    Returns:
        The run record (`Reading.record`).

    Raises:
        HomogenizationError: states that are not finite.
    """
    states = read_states(reading)
    bits = {
        point: (array.view(torch.uint16) if array.dtype == torch.bfloat16 else array).numpy()
        for point, array in states.arrays.items()
    }
    write_store(path, reading.contents, bits, states.received)
    return reading.record()
