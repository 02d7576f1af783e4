"""Lengths, directions and the mean cosine of tokens.

It imports numpy alone, because every parse of the Snakefile imports it through the views.
"""

from typing import Any

import numpy as np

# Eigenvalues of a Gram matrix below this share of the largest count as 0. Equal rows (a word that comes twice, at layer
# 0) make exact zeros, which rounding turns into up to 4.4 eps (measured up to 3,000 x 3,500); their square roots, 1e-8
# of the largest, would add up.
ZERO_SHARE = 8 * np.finfo(np.float64).eps


def norms(rows: np.ndarray) -> np.ndarray:
    """(..., n, d) rows -> (..., n) Euclidean norms, float64."""
    return np.sqrt(np.einsum("...j,...j->...", rows, rows, dtype=np.float64))


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """(..., n, d) rows scaled to length 1, float64; zero rows stay zero."""
    lengths = norms(rows)
    return rows / (lengths + (lengths == 0))[..., None]


def mean_of_pairs(square: Any, n_directed: Any, n: Any) -> Any:
    """Mean of u_i . u_j over i != j, u_i = x_i / |x_i|, i = 1 .. n, n > 1 or NaN (Godey et al. 2024).

    It follows from the squared length of the sum of all u_i, and the number of rows that are not zero.
    """
    return (square - n_directed) / (n * (n - 1))
