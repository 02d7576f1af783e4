"""The numbers of `measures.alignment` for many reviews at once, by products of matrices alone, as a GPU likes them.

Reviews of similar length form a batch, filled up with zero tokens. A zero token adds 0 to every sum, and an eigenvalue
of 0 to a Gram matrix.
"""

from collections.abc import Sequence

import torch
from torch.nn.utils.rnn import pad_sequence

from homogenization.metrics.cosines import mean_cosine

_SHAPE = (4, 3)  # views and numbers, in the order of `TOKEN_VIEWS` and `NUMBERS`
_LENGTH_STEP = 32  # reviews whose lengths round up to the same multiple are taken together
_SQUARINGS = 40
_SQUARINGS_AT_ONCE = 4  # between rescalings to trace 1, which makes l_1 >= 1 / m: l_1^16 does not underflow


def batched_alignment(states: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """As `token_alignment`, on a device with float64; the singular anisotropy is exact to 1.4e-9 of itself."""
    reviews = states.split(list(lengths))
    alike: dict[int, list[int]] = {}
    for review, length in enumerate(lengths):
        alike.setdefault(-(-length // _LENGTH_STEP), []).append(review)
    result = torch.empty(*_SHAPE, len(lengths), dtype=torch.float64, device=states.device)
    for members in alike.values():
        filled = pad_sequence([reviews[review] for review in members], batch_first=True).double()
        counts = torch.tensor([lengths[review] for review in members], device=states.device)
        result[:, :, members] = _of_filled(filled, counts)
    return result


def _of_filled(filled: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Numbers (views, numbers, reviews) of `filled` (reviews, n, width): `counts` tokens each, then zeros."""
    views = [filled, _without_first(filled), _centred(filled, counts, 0), _centred(filled, counts, 1)]
    counts = torch.stack([counts, counts - 1, counts, counts - 1]).double()
    norms = torch.stack([torch.linalg.vector_norm(rows, dim=-1) for rows in views])
    pairable = torch.where(counts > 1, counts, torch.nan)
    cosines = torch.stack([mean_cosine(rows, n) for rows, n in zip(views, pairable, strict=True)])
    largest = torch.stack([eigenvalues_by_squaring(_products(rows)) for rows in views])
    return torch.stack(
        [
            norms.sum(dim=-1) / counts,
            cosines,
            (largest / norms.square().sum(dim=-1)).clamp(max=1),
        ],
        dim=1,
    )


def _products(rows: torch.Tensor) -> torch.Tensor:
    """(reviews, m, m) inner products of the rows or of the columns of (reviews, n, width), whichever are fewer."""
    return rows @ rows.mT if rows.shape[1] <= rows.shape[2] else rows.mT @ rows


def _centred(filled: torch.Tensor, counts: torch.Tensor, first: int) -> torch.Tensor:
    """A copy of (reviews, n, width) from which the mean of the tokens `first` to `counts` is taken; others are zero."""
    places = torch.arange(filled.shape[1], device=filled.device)
    taken = ((places >= first) & (places < counts[:, None]))[..., None]
    tokens = torch.where(taken, filled, 0.0)
    mean = tokens.sum(dim=1, keepdim=True) / (counts - first).clamp(min=1)[:, None, None]
    return torch.where(taken, tokens - mean, 0.0)


def _without_first(filled: torch.Tensor) -> torch.Tensor:
    """A copy of (reviews, n, width) whose first tokens are zero, so that they count as filling."""
    rest = filled.clone()
    rest[:, 0] = 0
    return rest


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
