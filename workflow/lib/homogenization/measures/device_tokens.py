"""Inner products of a review's tokens, computed where its states lie, in float64; eigenvalues are for the CPU.

A Gram matrix (n, n) of a review is a quarter of its states at 300 tokens and a width of 4,096, and half of the time of
its spectrum. It comes to main memory in one copy with all that follows from the tokens themselves.
"""

from collections.abc import Sequence

import numpy as np
import torch

from homogenization.measures.directions import inverse
from homogenization.measures.views import TokenGram, every_look_has_a_gram, shifts_too_far


class DeviceTokens(TokenGram):
    """The numbers of a `TokenGram` in main memory, without the tokens; it can be pickled.

    Tokens are at most as many as the width, and every look takes its rows' products from a `TokenGram`.
    """

    def __init__(self, states: torch.Tensor, subsets: Sequence[np.ndarray] = ()) -> None:
        """Take the states (n, d) of a review, and the positions of tokens that `subset` will be asked for."""
        n, width = states.shape
        copied = products(states).cpu().numpy()
        self._shape = (n, width)
        self.shifted = copied[: n * n].reshape(n, n)
        self.norms, along_mean = copied[n * n : -3].reshape(2, n)
        square, *self.resultants = copied[-3:].tolist()
        if shifts_too_far(square, self.norms.min()):
            tokens = states.double()
            self.raw = (tokens @ tokens.T).cpu().numpy()
        else:
            self.raw = self.shifted + (along_mean + along_mean[:, None])
        self._subsets = {
            chosen.tobytes(): DeviceTokens(states[torch.from_numpy(chosen).to(states.device)]) for chosen in subsets
        }

    @property
    def shape(self) -> tuple[int, int]:
        """Number of tokens, and width."""
        return self._shape

    @property
    def cosines(self) -> np.ndarray:
        """(n, n) cosines of the tokens."""
        scale = inverse(self.norms)
        return self.raw * scale * scale[:, None]

    def subset(self, positions: np.ndarray) -> TokenGram:
        """The tokens at `positions`, which were announced."""
        return self._subsets[positions.tobytes()]


def products(states: torch.Tensor) -> torch.Tensor:
    """All that `DeviceTokens` needs of the states (n, d) of a review, one after the other, on their device in float64.

    These are: inner products of the tokens less the mean m of all but the first (n x n); their lengths (n); their
    products with m less |m|^2 / 2 (n); |m|^2, and the resultants of all tokens and of all but the first.
    """
    tokens = states.double()
    mean = tokens[1:].sum(dim=0) / max(len(tokens) - 1, 1)
    rows = tokens - mean
    square = mean @ mean
    lengths = tokens.norm(dim=1)
    units = tokens / (lengths + (lengths == 0))[:, None]
    rest = units[1:].sum(dim=0)
    numbers = torch.stack([square, (rest + units[0]).norm(), rest.norm()])
    return torch.cat([(rows @ rows.T).flatten(), lengths, tokens @ mean - square / 2, numbers])


def tokens_of(states: torch.Tensor, subsets: Sequence[np.ndarray] = ()) -> TokenGram:
    """The tokens (n, d) of a review, n >= 1: on CUDA, their products are computed there if nobody needs the tokens.

    On the CPU the arithmetic is that of the road over a store.
    """
    n, width = states.shape
    if states.is_cuda and n <= width and every_look_has_a_gram():
        return DeviceTokens(states, subsets)
    return TokenGram(states.float().cpu().numpy().astype(np.float64))
