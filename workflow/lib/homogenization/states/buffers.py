"""Buffers for chunks of states in main memory, and asynchronous copies from the device into them.

A copy from CUDA runs in a separate stream, in parallel with the forward pass, into pinned memory.
"""

from functools import cache

import torch


class ChunkBuffer:
    """A buffer for one chunk of states.

    Attributes:
        states: states (tokens, width) in the dtype of the store.
        extremes: lowest and highest number of each token before conversion to that dtype, float32 (tokens, 2).
    """

    def __init__(self, n_tokens: int, width: int, dtype: torch.dtype, pinned: bool) -> None:
        # made in a forward pass, but filled outside of one too, which a tensor of inference mode would not allow
        with torch.inference_mode(False):
            self.states = torch.empty(n_tokens, width, dtype=dtype, pin_memory=pinned)
            self.extremes = torch.empty(n_tokens, 2, dtype=torch.float32, pin_memory=pinned)
        self._copied: torch.cuda.Event | None = None

    def fill(self, start: int, states: torch.Tensor) -> None:
        """Copy `states` (n, width) to the tokens from `start` on; from CUDA the copy is asynchronous."""
        tokens = slice(start, start + len(states))
        if not states.is_cuda:
            self.states[tokens].copy_(states)
            self.extremes[tokens].copy_(token_extremes(states))
            return
        # copied on the device first: the network may go on to change its own tensor
        converted, extremes = states.to(self.states.dtype, copy=True), token_extremes(states)
        stream = _copy_stream(states.device)
        stream.wait_stream(torch.cuda.current_stream(states.device))
        with torch.cuda.stream(stream):
            self.states[tokens].copy_(converted, non_blocking=True)
            self.extremes[tokens].copy_(extremes, non_blocking=True)
            self._copied = torch.cuda.Event(blocking=True)
            self._copied.record(stream)
        # torch does not reuse their memory before this stream is done with it
        converted.record_stream(stream)
        extremes.record_stream(stream)

    def wait(self) -> None:
        """Wait until all copies are complete."""
        if self._copied is not None:
            self._copied.synchronize()


def token_extremes(states: torch.Tensor) -> torch.Tensor:
    """(tokens, width) -> (tokens, 2) float32: the lowest and the highest number of each token, NaN where one is NaN."""
    return torch.stack([states.amin(dim=1), states.amax(dim=1)], dim=1).float()


@cache
def _copy_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
