"""Norms, cosines and the share of one direction of the tokens of a review, from their inner products in float64."""

import numpy as np
from scipy.sparse.linalg import ArpackError, eigsh

from homogenization.measures.eigenvalues import symmetric_eigenvalues
from homogenization.measures.views import TokenGram
from homogenization.metrics.cosines import inverse, mean_of_pairs
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

NUMBERS = ("mean_norm", "cosine_anisotropy", "singular_anisotropy")
CENTRED, CENTRED_WITHOUT_FIRST = "centred", "centred_without_first"
TOKEN_VIEWS = (ALL_TOKENS, WITHOUT_FIRST, CENTRED, CENTRED_WITHOUT_FIRST)
_DENSE = 32  # up to this size, all eigenvalues cost no more than the largest alone
_VECTORS = 8  # of ARPACK; more cost more than they save, unless many eigenvalues are nearly as large
_RESTARTS = 100  # tokens of trained models take one to ten


def token_alignment(gram: TokenGram) -> np.ndarray:
    """Mean norm, cosine anisotropy and singular anisotropy of the tokens of one review.

    Cosine anisotropy is the mean of u_i . u_j over i != j, u_i = x_i / |x_i| (Godey et al. 2024); a zero token has no
    direction and counts as u = 0. Singular anisotropy is the largest squared singular value over the sum of all. In the
    views `centred` and `centred_without_first`, the mean of the view's tokens is subtracted from each first.

    Returns:
        float64 (views, numbers), in the order of `TOKEN_VIEWS` and `NUMBERS`. NaN where a view lacks the token or pair
        that a number needs.
    """
    views = gram.raw, gram.raw[1:, 1:], gram.centred, gram.shifted[1:, 1:]
    return np.array([_alignment(products) for products in views])


def _alignment(products: np.ndarray) -> tuple[float, float, float]:
    """The numbers of one view, from the inner products (n, n) of its tokens."""
    squares, n = products.diagonal().clip(min=0), len(products)
    lengths, energy = np.sqrt(squares), squares.sum()
    scale = inverse(lengths)
    return (
        lengths.mean() if n else np.nan,
        mean_of_pairs(scale @ products @ scale, np.count_nonzero(lengths), n if n > 1 else np.nan),
        min(largest_eigenvalue(products / energy), 1.0) if energy else np.nan,
    )


def largest_eigenvalue(products: np.ndarray) -> float:
    """The largest eigenvalue of (n, n) float64, positive semi-definite and of trace 1.

    ARPACK finds it by products with a vector, from a start that is drawn and the same each time. Where it does not
    converge, because others are nearly as large, all eigenvalues are computed.
    """
    n = len(products)
    if n > _DENSE:
        drawn = np.random.default_rng(0)
        options = {"v0": drawn.standard_normal(n), "rng": drawn, "ncv": _VECTORS, "maxiter": _RESTARTS}
        try:
            return eigsh(products, 1, which="LA", return_eigenvectors=False, **options)[0]
        except ArpackError:
            pass
    return symmetric_eigenvalues(products)[-1]
