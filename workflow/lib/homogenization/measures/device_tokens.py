"""Inner products of a review's tokens, computed where its states lie, in float64; eigenvalues are for the CPU.

A Gram matrix (n, n) of a review is a quarter of its states at 300 tokens and a width of 4,096, and half of the time of
its spectrum. It comes to main memory in one copy with all that follows from the tokens themselves.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import torch

from homogenization.measures.views import TokenGram, every_look_has_a_gram, shifts_too_far


class DeviceTokens(TokenGram):
    """The numbers of a `TokenGram` in main memory, without the tokens; it can be pickled.

    Tokens are at most as many as the width, and every look takes its rows' products from a `TokenGram`.
    """

    def __init__(self, numbers: np.ndarray, shape: tuple[int, int], raw: np.ndarray | None = None) -> None:
        """Take the `products` of tokens of this shape, (n, d), and their inner products where `needs_raw` says so."""
        n, _ = self._shape = shape
        self.shifted = numbers[: n * n].reshape(n, n)
        self.norms, self._along_mean = numbers[n * n : -3].reshape(2, n)
        self.square, *self.resultants = numbers[-3:].tolist()
        self.subsets: dict[bytes, DeviceTokens] = {}
        if raw is not None:
            self.raw = raw

    @property
    def shape(self) -> tuple[int, int]:
        """Number of tokens, and width."""
        return self._shape

    @cached_property
    def raw(self) -> np.ndarray:
        """(n, n) inner products of the tokens as they are."""
        return self.shifted + (self._along_mean + self._along_mean[:, None])

    @property
    def needs_raw(self) -> bool:
        """Whether `raw` can't be had from the other numbers without a loss of precision."""
        return shifts_too_far(self.square, self.norms.min())

    def subset(self, positions: np.ndarray) -> TokenGram:
        """The tokens at `positions`, which were announced."""
        return self.subsets[positions.tobytes()]


def products(states: torch.Tensor) -> torch.Tensor:
    """All that `DeviceTokens` needs of matrices of tokens (b, n, d), on their device: a row of float64 for each.

    A row holds: inner products of the tokens minus the mean m of all but the first (n x n); their lengths (n); their
    products with m less |m|^2 / 2 (n); |m|^2, and the resultants of all tokens and of all but the first.
    """
    tokens = states.double()
    b, n, _ = tokens.shape
    mean = tokens[:, 1:].sum(dim=1) / max(n - 1, 1)
    rows = tokens - mean[:, None]
    square = mean.square().sum(dim=1)
    lengths = tokens.norm(dim=2)
    units = tokens / (lengths + (lengths == 0))[:, :, None]
    rest = units[:, 1:].sum(dim=1)
    along_mean = (tokens @ mean[:, :, None])[:, :, 0] - square[:, None] / 2
    numbers = torch.stack([square, (rest + units[:, 0]).norm(dim=1), rest.norm(dim=1)], dim=1)
    return torch.cat([(rows @ rows.mT).view(b, n * n), lengths, along_mean, numbers], dim=1)


def on_device(reviews: Sequence[torch.Tensor], subsets: Sequence[Sequence[np.ndarray]]) -> list[DeviceTokens]:
    """The tokens of reviews, (n, d) each with 1 <= n <= d, and the subsets that they will be asked for, in one copy.

    Args:
        reviews: states of each review.
        subsets: by review, the positions of each subset.
    """
    matrices, names = [], []
    for review, (states, drawn) in enumerate(zip(reviews, subsets, strict=True)):
        matrices.append(states[None])
        names.append((review, [None]))
        for size in sorted({len(positions) for positions in drawn}):
            chosen = [positions for positions in drawn if len(positions) == size]
            matrices.append(states[torch.from_numpy(np.stack(chosen)).to(states.device)])
            names.append((review, chosen))
    computed = [products(of) for of in matrices]
    copied = np.split(
        torch.cat([of.flatten() for of in computed]).cpu().numpy(), np.cumsum([of.numel() for of in computed])[:-1]
    )
    found: list[DeviceTokens] = []
    for (review, chosen), of, numbers in zip(names, matrices, copied, strict=True):
        for positions, states, row in zip(chosen, of, numbers.reshape(len(of), -1), strict=True):
            tokens = DeviceTokens(row, tuple(states.shape))
            if tokens.needs_raw:
                exact = states.double()
                tokens = DeviceTokens(row, tuple(states.shape), (exact @ exact.T).cpu().numpy())
            if positions is None:
                found.append(tokens)
            else:
                found[review].subsets[positions.tobytes()] = tokens
    return found


def tokens_of(reviews: Sequence[torch.Tensor], subsets: Sequence[Sequence[np.ndarray]]) -> Iterator[TokenGram]:
    """The tokens of each review, (n, d) with n >= 1: on CUDA, products are computed there if nobody needs the tokens.

    On the CPU the arithmetic is that of the road over a store.
    """
    there = [states.is_cuda and len(states) <= states.shape[1] and every_look_has_a_gram() for states in reviews]
    chosen = [[of for of, is_there in zip(all_of, there, strict=True) if is_there] for all_of in (reviews, subsets)]
    computed = iter(on_device(*chosen) if any(there) else ())
    for states, is_there in zip(reviews, there, strict=True):
        yield next(computed) if is_there else TokenGram(states.float().cpu().numpy().astype(np.float64))
