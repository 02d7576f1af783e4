"""Norms, cosines and the share of one direction for the tokens of packed reviews, on the device that holds them.

All arithmetic is float64. Reviews of similar length form a batch, filled up with zero tokens. A zero token adds 0 to
every sum, and an eigenvalue of 0 to a Gram matrix.
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.linalg import eigh
from torch.nn.utils.rnn import pad_sequence

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

NUMBERS = ("mean_norm", "cosine_anisotropy", "singular_anisotropy")
CENTRED, CENTRED_WITHOUT_FIRST = "centred", "centred_without_first"
TOKEN_VIEWS = (ALL_TOKENS, WITHOUT_FIRST, CENTRED, CENTRED_WITHOUT_FIRST)

_LENGTH_STEP = 32  # reviews whose lengths round up to the same multiple are taken together
_DENSE = 64  # up to this size, all eigenvalues cost no more than the largest alone
_MOST_STEPS = 24  # of Lanczos
_STEPS = 4  # between looks at what they have found
_LEAST_GAP = 1e-3  # of the largest eigenvalue, far above the rounding of a norm
_EPS = np.finfo(np.float64).eps
_SQUARINGS = 40
_SQUARINGS_AT_ONCE = 4  # between rescalings to trace 1, which makes l_1 >= 1 / m: l_1^16 does not underflow


def token_alignment(states: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """Mean norm, cosine anisotropy and singular anisotropy of every review.

    Cosine anisotropy is the mean of u_i . u_j over i != j, u_i = x_i / |x_i| (Godey et al. 2024); a zero token has no
    direction and counts as u = 0. Singular anisotropy is the largest squared singular value over the sum of all. In the
    views `centred` and `centred_without_first`, the mean of the view's tokens is subtracted from each first.

    Args:
        states: (tokens, width), any float type, reviews end to end; finite.
        lengths: tokens of each review, each at least 1.

    Returns:
        float64 (views, numbers, reviews), in the order of `TOKEN_VIEWS` and `NUMBERS`, on the device of `states` (on
        the CPU if that device lacks float64). NaN where a view lacks the token or pair that a number needs.
    """
    device = torch.device("cpu") if states.device.type == "mps" else states.device
    reviews = states.to(device).split(list(lengths))
    alike: dict[int, list[int]] = {}
    for review, length in enumerate(lengths):
        alike.setdefault(-(-length // _LENGTH_STEP), []).append(review)
    result = torch.empty(len(TOKEN_VIEWS), len(NUMBERS), len(lengths), dtype=torch.float64, device=device)
    for steps, members in alike.items():
        filled = pad_sequence([reviews[review] for review in members], batch_first=True).double()
        filled = torch.nn.functional.pad(filled, (0, 0, 0, steps * _LENGTH_STEP - filled.shape[1]))
        counts = torch.tensor([lengths[review] for review in members], device=device)
        result[:, :, members] = _of_filled(filled, counts)
    return result


def _of_filled(filled: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Numbers (views, numbers, reviews) of `filled` (reviews, n, width): `counts` tokens each, then zeros."""
    n, width = filled.shape[1:]
    centred = [_centred(filled, counts, 0), _centred(filled, counts, 1)]
    if n <= width:
        gram = _grams(filled)
        grams = [gram, _without_first(_without_first(gram).mT), *map(_grams, centred)]
    else:
        # subtracting a massive first token from the whole product would cost the other tokens precision
        grams = [_grams(rows.mT) for rows in (filled, _without_first(filled), *centred)]
    grams = torch.stack(grams)
    norms, units = _norms_and_units(filled)
    norms, resultants = [norms, _without_first(norms)], [units.sum(dim=1), units[:, 1:].sum(dim=1)]
    for rows in centred:
        norms_of_rows, units = _norms_and_units(rows)
        norms.append(norms_of_rows)
        resultants.append(units.sum(dim=1))
    norms, resultants = torch.stack(norms), torch.stack(resultants)
    counts = torch.stack([counts, counts - 1, counts, counts - 1]).double()
    pairs = torch.where(counts > 1, counts * (counts - 1), torch.nan)
    largest = [largest_eigenvalues(grams[:2].flatten(0, 1)), largest_by_bisection(grams[2:].flatten(0, 1))]
    largest = torch.cat(largest).reshape(norms.shape[:2])
    return torch.stack(
        [
            norms.sum(dim=-1) / counts,
            (resultants.square().sum(dim=-1) - (norms > 0).sum(dim=-1)) / pairs,
            (largest / norms.square().sum(dim=-1)).clamp(max=1),
        ],
        dim=1,
    )


def _centred(filled: torch.Tensor, counts: torch.Tensor, first: int) -> torch.Tensor:
    """A copy of (reviews, n, width) from which the mean of the tokens `first` to `counts` is taken; others are zero."""
    places = torch.arange(filled.shape[1], device=filled.device)
    taken = ((places >= first) & (places < counts[:, None]))[..., None]
    tokens = torch.where(taken, filled, 0.0)
    mean = tokens.sum(dim=1, keepdim=True) / (counts - first).clamp(min=1)[:, None, None]
    return torch.where(taken, tokens - mean, 0.0)


def _norms_and_units(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Norms (reviews, n) and directions (reviews, n, width) of tokens; a zero token has the direction 0."""
    norms = torch.linalg.vector_norm(rows, dim=-1)
    return norms, rows / torch.where(norms > 0, norms, 1.0)[..., None]


def _grams(matrices: torch.Tensor) -> torch.Tensor:
    """(reviews, n, m) -> (reviews, n, n) products of the rows of each matrix."""
    if matrices.is_cuda:
        return matrices @ matrices.mT
    # numpy sees a symmetric product and does half the work
    return torch.stack([torch.from_numpy(rows @ rows.T) for rows in matrices.numpy()])


def _without_first(tokens: torch.Tensor) -> torch.Tensor:
    """A copy of (reviews, n, ...) whose first tokens are zero, so that they count as filling."""
    rest = tokens.clone()
    rest[:, 0] = 0
    return rest


def largest_eigenvalues(gram: torch.Tensor) -> torch.Tensor:
    """Largest eigenvalue of each positive semi-definite matrix of (matrices, m, m) float64; (matrices,) float64."""
    if gram.is_cuda:  # there an eigensolver takes milliseconds for a matrix, a matrix product microseconds
        return eigenvalues_by_squaring(gram)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on matrices of this size, several threads wait for each other
    try:
        if gram.shape[-1] <= _DENSE:
            return torch.linalg.eigvalsh(gram)[:, -1]
        found = gram.new_tensor([largest_by_lanczos(matrix) for matrix in gram.numpy()])
        unproven = found.isnan()
        if unproven.any():
            found[unproven] = torch.linalg.eigvalsh(gram[unproven])[:, -1]
        return found
    finally:
        torch.set_num_threads(threads)


def largest_by_bisection(gram: torch.Tensor) -> torch.Tensor:
    """As `largest_eigenvalues`, for centred tokens, where no direction dominates and Lanczos proves nothing."""
    if gram.is_cuda:
        return eigenvalues_by_squaring(gram)
    last = gram.shape[-1] - 1
    asked = {"subset_by_index": [last, last], "eigvals_only": True, "driver": "evx", "check_finite": False}
    return gram.new_tensor([eigh(matrix, **asked)[0] for matrix in gram.numpy()])


def largest_by_lanczos(gram: np.ndarray) -> float:
    """Largest eigenvalue of a positive semi-definite matrix (m, m) by a few products with a vector; NaN if unproven.

    Lanczos finds some eigenvalue, which need not be the largest. With t = y'Gy of a unit vector y, r = |Gy - ty|, all
    of G orthogonal to y has a norm of at most b = sqrt(|G|² - t² - 2 r²), |G| the Frobenius norm. For b < t, the
    largest eigenvalue thus lies between t and t + r² / (t - b). It is proven if these agree to the precision of
    float64. That is so only where the square of the largest eigenvalue exceeds the squares of all others together.
    """
    trace = np.trace(gram)
    if not 0 < trace < np.inf:
        return np.nan
    gram = gram / trace
    squares = np.vdot(gram, gram)
    vectors, images = np.empty((2, _MOST_STEPS, len(gram)))
    further = gram @ np.random.default_rng(0).standard_normal(len(gram))
    for step in range(_MOST_STEPS):
        for _ in range(2):  # twice, against rounding
            further = further - (vectors[:step] @ further) @ vectors[:step]
        vectors[step] = further / (np.sqrt(further @ further) or 1.0)
        further = images[step] = gram @ vectors[step]
        if (step + 1) % _STEPS:
            continue
        weights = np.linalg.eigh(vectors[: step + 1] @ images[: step + 1].T)[1][:, -1]
        vector, image = weights @ vectors[: step + 1], weights @ images[: step + 1]
        size = vector @ vector
        found = (vector @ image) / size
        residual = ((image - found * vector) ** 2).sum() / size
        gap = found - np.sqrt(max(squares - found**2 - 2 * residual, 0.0))
        if gap > _LEAST_GAP * found and residual <= _EPS * found * gap:
            return found * trace
    return np.nan


def eigenvalues_by_squaring(gram: torch.Tensor) -> torch.Tensor:
    """As `largest_eigenvalues`, by matrix products alone.

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
