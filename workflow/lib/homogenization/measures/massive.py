"""Massive tokens: much longer than the others, block after block.

Massive activations appear in an early block and stay through the middle of a network (Sun, Chen, Kolter & Liu 2024,
arXiv 2402.17762). So a token is massive where its norm is more than ten times the median norm of the review's tokens
after at least half of the blocks in the middle of the depth, [.25, .75). One that is as long after a single block, as
commas are after the first block of Gemma 3, is not. Where no layer lies there, as in a model of one block, all layers
after a block count.
"""

import numpy as np

from homogenization.measures.depth import REGIONS

TIMES_THE_MEDIAN = 10.0
_LEAST_OF_MIDDLE = 0.5


def are_massive(lengths: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Whether each token of a review is massive, bool (n,); False where there is no layer after a block.

    `lengths` are norms of the residual stream at some layers, (layers, n), `depth` is layer / number of blocks.
    """
    low, high = REGIONS["middle"]
    middle = (low <= depth) & (depth < high)
    counted = lengths[middle if middle.any() else depth > 0]
    above = (counted > TIMES_THE_MEDIAN * np.median(counted, axis=1, keepdims=True)).sum(axis=0)
    return (above > 0) & (above >= _LEAST_OF_MIDDLE * len(counted))
