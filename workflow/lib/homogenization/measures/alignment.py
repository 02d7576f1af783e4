"""Norms, cosines and the share of one direction for the tokens of packed reviews, on the device that holds them.

All arithmetic is float64. A CPU takes one review after the other, which stays in its cache; a GPU takes many at once.
"""

from collections.abc import Sequence

import numpy as np
import torch

from homogenization.measures.batched_alignment import batched_alignment
from homogenization.measures.directions import mean_cosine, norms
from homogenization.measures.tridiagonal import tridiagonal_forms
from homogenization.measures.views import TokenGram, look_of, view_rows
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

NUMBERS = ("mean_norm", "cosine_anisotropy", "singular_anisotropy")
CENTRED, CENTRED_WITHOUT_FIRST = "centred", "centred_without_first"

# The rows of each view, by a name of `measures.views`
_ROWS_OF = {
    ALL_TOKENS: "raw",
    WITHOUT_FIRST: "raw_without_first",
    CENTRED: "centred",
    CENTRED_WITHOUT_FIRST: "centred_without_first",
}
TOKEN_VIEWS = tuple(_ROWS_OF)

_RAW, _CENTRED = look_of("raw")[0], look_of("centred")[0]
_DENSE = 64  # up to this size, all eigenvalues cost no more than the largest alone
_MOST_STEPS = 24  # of Lanczos
_STEPS = 4  # between looks at what they have found
_LEAST_GAP = 1e-3  # of the largest eigenvalue, far above the rounding of a norm
_EPS = np.finfo(np.float64).eps


def token_alignment(states: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """Mean norm, cosine anisotropy and singular anisotropy of every review.

    Cosine anisotropy is the mean of u_i . u_j over i != j, u_i = x_i / |x_i| (Godey et al. 2024); a zero token has no
    direction and counts as u = 0. Singular anisotropy is the largest squared singular value over the sum of all. In the
    views `centred` and `centred_without_first`, the mean of the view's tokens is subtracted from each first.

    Args:
        states: (tokens, width), any float type, reviews end to end; finite.
        lengths: tokens of each review, each at least 1.

    Returns:
        float64 (views, numbers, reviews), in the order of `TOKEN_VIEWS` and `NUMBERS`; on CUDA if `states` are there,
        else on the CPU. NaN where a view lacks the token or pair that a number needs.
    """
    if states.is_cuda:
        return batched_alignment(states, lengths)
    reviews = states.to("cpu", torch.float64).split(list(lengths))
    numbers = [_of_review(tokens.numpy()) for tokens in reviews]
    return torch.from_numpy(np.stack(numbers, axis=-1) if numbers else np.empty((len(TOKEN_VIEWS), len(NUMBERS), 0)))


def _of_review(tokens: np.ndarray) -> np.ndarray:
    """Numbers (views, numbers) of one review's tokens, (n, d) float64, n >= 1."""
    numbers = np.empty((len(TOKEN_VIEWS), len(NUMBERS)))
    for view, (name, largest) in enumerate(zip(_ROWS_OF.values(), _largest_eigenvalues(tokens), strict=True)):
        rows = view_rows(name, tokens)
        lengths = norms(rows)
        numbers[view] = [
            lengths.mean() if len(rows) else np.nan,
            mean_cosine(rows),
            min(largest / (lengths @ lengths), 1.0) if lengths.any() else np.nan,
        ]
    return numbers


def _largest_eigenvalues(tokens: np.ndarray) -> list[float]:
    """Largest squared singular values of the four views of (n, d) float64 tokens; NaN without rows."""
    gram = TokenGram(tokens)
    of_raw = [largest_by_lanczos(products) for products in _raw_products(tokens, gram)]
    if len(of_raw) < 2 or np.isnan(of_raw).any():
        of_raw = [form.largest_eigenvalue() for form in tridiagonal_forms(_RAW, gram)]
    return of_raw + [form.largest_eigenvalue() for form in tridiagonal_forms(_CENTRED, gram)]


def _raw_products(tokens: np.ndarray, gram: TokenGram) -> list[np.ndarray]:
    """Matrices whose eigenvalues are the squared singular values with and without the first token; none if small."""
    n, width = tokens.shape
    if min(n, width) <= _DENSE:
        return []
    if n <= width:
        return [gram.raw, gram.raw[1:, 1:]]
    without_first = tokens[1:].T @ tokens[1:]
    return [without_first + np.outer(tokens[0], tokens[0]), without_first]


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
        try:
            weights = np.linalg.eigh(vectors[: step + 1] @ images[: step + 1].T)[1][:, -1]
        except np.linalg.LinAlgError:
            return np.nan
        vector, image = weights @ vectors[: step + 1], weights @ images[: step + 1]
        size = vector @ vector
        found = (vector @ image) / size
        residual = ((image - found * vector) ** 2).sum() / size
        gap = found - np.sqrt(max(squares - found**2 - 2 * residual, 0.0))
        if gap > _LEAST_GAP * found and residual <= _EPS * found * gap:
            return found * trace
    return np.nan
