"""Lengths and directions of tokens.

It imports numpy alone, because every parse of the Snakefile imports it through the views.
"""

import numpy as np


def norms(tokens: np.ndarray) -> np.ndarray:
    """(n, d) tokens of any float type -> (n,) float64 Euclidean norms."""
    return np.sqrt(np.einsum("ij,ij->i", tokens, tokens, dtype=np.float64))


def inverse(lengths: np.ndarray) -> np.ndarray:
    """1 / lengths, and 0 for a length of zero: a zero token has no direction and counts as a zero row."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def unit_rows(tokens: np.ndarray) -> np.ndarray:
    """(n, d) tokens of any float type -> (n, d) float64, scaled to length 1; zero tokens stay zero."""
    return tokens * inverse(norms(tokens))[:, None]


def mean_cosine(rows: np.ndarray) -> float:
    """Mean cosine of pairs of rows, (n, d) of any float type; that of a zero row is 0; NaN for fewer than two."""
    lengths, n = norms(rows), len(rows)
    resultant = inverse(lengths) @ rows
    return float((resultant @ resultant - np.count_nonzero(lengths)) / (n * (n - 1))) if n > 1 else np.nan
