"""The numbers of `measures.alignment` for all reviews of a pack at once, by products of matrices alone, as a GPU likes.

Nothing is read back, and little is launched: sums over the tokens of a review are products with a matrix of zeros and
ones; Gram matrices are made in a few batches of reviews of similar length, filled up with zero tokens, which add an
eigenvalue of 0 each; and the Gram matrices of several points, of all views, are squared together.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from homogenization.metrics.cosines import units_of

_MOST_BATCHES = 8  # of reviews of similar length
_LENGTH_STEP = 32  # the longest of a batch is looked for among the multiples of this
_NUMBERS_AT_ONCE = 2**26  # of Gram matrices that wait to be squared: 512 MiB
_SQUARINGS = 40
_SQUARINGS_AT_ONCE = 4  # between rescalings to trace 1, which makes l_1 >= 1 / m: l_1^16 does not underflow


def batched_alignment(states: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """As `token_alignment`, on a device with float64; the singular anisotropy is exact to 1.4e-9 of itself."""
    batches = BatchedAlignment(lengths, states.device)
    batches.add(states)
    return batches.numbers()[0]


class BatchedAlignment:
    """`token_alignment` of the same reviews at one point after another, on a device with float64.

    Args:
        lengths: tokens of each review, each at least 1.
        device: device of the states.
    """

    def __init__(self, lengths: Sequence[int], device: torch.device) -> None:
        starts = np.cumsum([0, *lengths[:-1]])[: len(lengths)]
        review_of = np.repeat(np.arange(len(lengths)), lengths)
        later = np.ones((len(review_of), 1))
        later[starts] = 0
        counts = np.array([lengths, lengths, lengths, lengths], dtype=np.float64) - [[0], [1], [0], [1]]
        self._review_of = torch.from_numpy(review_of).to(device)
        self._member = (torch.arange(len(lengths), device=device)[:, None] == self._review_of).double()
        self._later = torch.from_numpy(later).to(device)
        self._counts = torch.from_numpy(counts).to(device)
        self._batches: list[tuple[torch.Tensor, torch.Tensor]] = []
        batches = _batches(tuple(lengths))
        for members in batches:
            of_batch = np.array([lengths[review] for review in members])
            place = np.arange(of_batch.max())
            there = place < of_batch[:, None]
            tokens = np.where(there, starts[list(members)][:, None] + place, 0)
            self._batches.append((torch.from_numpy(tokens).to(device), torch.from_numpy(there).to(device)[..., None]))
        self._order = torch.from_numpy(np.argsort(np.concatenate(batches))).to(device)
        self._norms: list[torch.Tensor] = []
        self._cosines: list[torch.Tensor] = []
        self._squares: list[torch.Tensor] = []
        self._largest: list[torch.Tensor] = []
        self._waiting: list[list[torch.Tensor]] = []

    def add(self, states: torch.Tensor) -> None:
        """Take the states (tokens, width) of a point, any float type; nothing of them is kept."""
        views = self._views(states.double())
        norms = torch.linalg.vector_norm(views, dim=-1)
        sums = self._of_reviews(torch.stack([norms, norms.square()])[..., None])[..., 0]
        self._norms.append(sums[0] / self._counts)
        self._squares.append(sums[1])
        self._cosines.append(self._mean_cosines(views))
        grams = []
        for tokens, there in self._batches:
            filled = views[:, tokens].mul_(there)
            grams.append(filled @ filled.mT if filled.shape[2] <= filled.shape[3] else filled.mT @ filled)
        self._waiting.append(grams)
        if len(self._waiting) * sum(gram.numel() for gram in grams) >= _NUMBERS_AT_ONCE:
            self._square()

    def numbers(self) -> torch.Tensor:
        """Float64 (points, views, numbers, reviews) of all points that were added, in their order."""
        self._square()
        norms, cosines, squares = map(torch.stack, (self._norms, self._cosines, self._squares))
        shares = (torch.cat(self._largest) / squares).clamp(max=1)
        return torch.stack([norms, cosines, shares], dim=2)

    def _views(self, tokens: torch.Tensor) -> torch.Tensor:
        """(views, tokens, width), in the order of `TOKEN_VIEWS`; a first token that a view leaves out is zero."""
        rest = tokens * self._later
        sums = self._of_reviews(torch.stack([tokens, rest]))
        means = sums / self._counts[:2, :, None].clamp(min=1)
        centred, centred_rest = torch.stack([tokens, tokens]) - means[:, self._review_of]
        return torch.stack([tokens, rest, centred, centred_rest * self._later])

    def _mean_cosines(self, views: torch.Tensor) -> torch.Tensor:
        units, directed = units_of(views)
        resultants, n_directed = self._of_reviews(units), self._of_reviews(directed.double())[..., 0]
        n = torch.where(self._counts > 1, self._counts, torch.nan)
        return (torch.linalg.vecdot(resultants, resultants) - n_directed) / (n * (n - 1))

    def _of_reviews(self, of_tokens: torch.Tensor) -> torch.Tensor:
        """Sums over the tokens of each review: (..., tokens, m) to (..., reviews, m)."""
        return self._member @ of_tokens

    def _square(self) -> None:
        """Turn the Gram matrices that wait into their largest eigenvalues."""
        if not self._waiting:
            return
        points, waiting = len(self._waiting), list(zip(*self._waiting, strict=True))
        self._waiting = []
        found = []
        while waiting:
            grams = torch.stack(waiting.pop(0))
            found.append(eigenvalues_by_squaring(grams.flatten(0, 2)).reshape(points, len(self._counts), -1))
        self._largest.append(torch.cat(found, dim=-1)[..., self._order])


def _batches(lengths: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Reviews in at most `_MOST_BATCHES` batches of similar length, such that squaring takes fewest operations."""
    classes = [-(-length // _LENGTH_STEP) for length in lengths]
    counts = sorted(Counter(classes).items())

    @cache
    def cheapest(first: int, n_batches: int) -> tuple[float, tuple[int, ...]]:
        """Operations for the classes from `first` on in at most so many batches, and the last class of each."""
        if first == len(counts):
            return 0.0, ()
        options, members = [], 0
        for stop in range(first + 1, len(counts) + 1):
            members += counts[stop - 1][1]
            if stop == len(counts) or n_batches > 1:
                further, others = cheapest(stop, n_batches - 1)
                options.append((members * counts[stop - 1][0] ** 3 + further, (counts[stop - 1][0], *others)))
        return min(options)

    bounds = cheapest(0, _MOST_BATCHES)[1]
    batch_of = np.searchsorted(bounds, classes)
    return [tuple(np.flatnonzero(batch_of == batch).tolist()) for batch in range(len(bounds))]


def eigenvalues_by_squaring(gram: torch.Tensor) -> torch.Tensor:
    """Largest eigenvalue of each positive semi-definite (matrices, m, m) float64, by products alone; (matrices,).

    The power P = gram^(2^k), rescaled on the way, weighs the eigenvectors by (l_i / l_1)^(2^k). So
    trace(gram P) / trace(P) is at most the share (m - 1) / (e 2^k) below l_1, for any gaps between eigenvalues: 1.4e-9
    for m = 4096 and k = 40. NaN for a matrix of zeros.
    """
    power = gram
    for squaring in range(_SQUARINGS):
        if squaring % _SQUARINGS_AT_ONCE == 0:
            power = power / _trace(power)[:, None, None]
        power = power @ power
    return (gram * power).sum(dim=(1, 2)) / _trace(power)


def _trace(matrices: torch.Tensor) -> torch.Tensor:
    return matrices.diagonal(dim1=1, dim2=2).sum(dim=1)
