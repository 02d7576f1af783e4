"""Lengths, directions and mean cosines of tokens: arrays of numpy, or tensors of torch on any device.

It imports numpy alone, because every parse of the Snakefile imports it through the views.
"""

from typing import Any, TypeVar

import numpy as np

# Eigenvalues of a Gram matrix below this share of the largest count as 0. Equal rows (a word that comes twice, at layer
# 0) make exact zeros, which rounding turns into up to 4.4 eps (measured up to 3,000 x 3,500); their square roots, 1e-8
# of the largest, would add up.
ZERO_SHARE = 8 * np.finfo(np.float64).eps

Rows = TypeVar("Rows")  # an array of numpy, or a tensor of torch


def norms(rows: Rows) -> Rows:
    """(..., n, d) rows -> (..., n) Euclidean norms: float64 of an array, in the dtype of a tensor."""
    if isinstance(rows, np.ndarray):
        return np.sqrt(np.einsum("...j,...j->...", rows, rows, dtype=np.float64))
    return rows.norm(dim=-1)


def unit_rows(rows: Rows) -> Rows:
    """(..., n, d) rows scaled to length 1, in the dtype of their `norms`; zero rows stay zero."""
    return rows / _not_zero(norms(rows))[..., None]


def _not_zero(lengths: Rows) -> Rows:
    return lengths + (lengths == 0)


def mean_of_pairs(square: Any, n_directed: Any, n: Any) -> Any:
    """Mean of u_i . u_j over i != j, u_i = x_i / |x_i|, from the sum of all u_i (Godey et al. 2024).

    Args:
        square: squared length of the sum.
        n_directed: number of rows that are not zero.
        n: number of rows, at least 2; NaN gives NaN.
    """
    return (square - n_directed) / (n * (n - 1))


def mean_cosine(rows: Rows) -> Any:
    """Mean cosine of all pairs of rows (n, d); a row of zeros has the cosine 0 with the others; NaN for fewer than two.

    The result is a float64 of numpy, or a tensor without axes.
    """
    lengths, n = norms(rows), len(rows)
    resultant = (rows / _not_zero(lengths)[:, None]).sum(0)
    return mean_of_pairs(resultant @ resultant, (lengths > 0).sum(), n if n > 1 else np.nan)


def mean_cosine_to_first(rows: Rows) -> Any:
    """Mean cosine of the first of rows (n, d) with each other; NaN for fewer than two. The result is as above."""
    units = unit_rows(rows)
    return (units[1:] @ units[0]).mean() if len(rows) > 1 else np.nan
