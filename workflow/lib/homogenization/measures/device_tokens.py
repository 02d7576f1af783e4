"""Inner products of a review's tokens, computed where its states lie, in float64; eigenvalues are for the CPU.

A Gram matrix (n, n) of a review is a quarter of its states at 300 tokens and a width of 4,096, and half of the time of
its spectrum. It comes to main memory in one copy with all that follows from the tokens themselves.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from homogenization.measures.views import TokenGram, every_look_has_a_gram


def products(states: torch.Tensor) -> torch.Tensor:
    """What a `TokenGram` needs in place of matrices of tokens (b, n, d), on their device: a row of float64 for each.

    A row holds its `shifted` (n x n), `norms` and `along_mean` (n each), `square`, and the two `resultants`.
    """
    of = TokenGram(states.double())
    numbers = torch.stack([of.square, *of.resultants], dim=1)
    return torch.cat([of.shifted.flatten(1), of.norms, of.along_mean, numbers], dim=1)


def _without_tokens(numbers: np.ndarray, states: torch.Tensor) -> TokenGram:
    """The inner products of `states` (n, d), of which the row of `products` is at hand; it can be pickled."""
    n = len(states)
    known: dict[str, Any] = dict(zip(("norms", "along_mean"), numbers[n * n : -3].reshape(2, n), strict=True))
    known |= {"square": numbers[-3], "resultants": tuple(numbers[-2:])}
    gram = TokenGram(None, shape=tuple(states.shape), shifted=numbers[: n * n].reshape(n, n), **known)
    if gram.shifts_too_far:
        exact = states.double()
        gram.raw = (exact @ exact.T).cpu().numpy()
    return gram


def on_device(reviews: Sequence[torch.Tensor], subsets: Sequence[Sequence[np.ndarray]]) -> list[TokenGram]:
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
    found: list[TokenGram] = []
    for (review, chosen), of, numbers in zip(names, matrices, copied, strict=True):
        for positions, states, row in zip(chosen, of, numbers.reshape(len(of), -1), strict=True):
            tokens = _without_tokens(row, states)
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
        yield next(computed) if is_there else TokenGram(states.cpu().double().numpy())
