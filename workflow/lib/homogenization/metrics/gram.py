"""Singular values from the eigenvalues of a Gram matrix, and the eigenvectors of symmetric matrices.

It is a module of its own so that a new metric in `spectral` leaves the spectra as they are.
"""

import numpy as np
from scipy.linalg import LinAlgError, eigh

# Eigenvalues below this share of the largest count as 0. Equal rows (a word that comes twice, at layer 0) make exact
# zeros, which rounding turns into up to 4.4 eps (measured up to 3,000 x 3,500); their square roots, 1e-8 of the
# largest, would add up.
ZERO_SHARE = 8 * np.finfo(np.float64).eps


def roots_of(eigenvalues: np.ndarray) -> np.ndarray:
    """Singular values, descending, of the ascending eigenvalues of a Gram matrix, (k,) float64, k >= 0."""
    if eigenvalues.size == 0:
        return eigenvalues
    descending = eigenvalues[::-1]
    return np.sqrt(np.where(descending < ZERO_SHARE * descending[0], 0.0, descending.clip(min=0.0)))


def eigenvectors(symmetric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending eigenvalues (n,) and eigenvectors (n, n), in columns, of (n, n); finite.

    Divide and conquer can stop without a result; QL, which takes longer, converges always.
    """
    try:
        return eigh(symmetric, driver="evd")
    except LinAlgError:
        return eigh(symmetric, driver="ev")
