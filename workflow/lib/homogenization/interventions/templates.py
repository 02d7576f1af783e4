"""The attention that position alone predicts, for each review from the reviews of the other half."""

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
import polars as pl

from homogenization.interventions.changes import Templates
from homogenization.measures.positional import PositionalSums, template_of


def templates_of_reviews(sums: pl.DataFrame, ranks: Sequence[int]) -> list[Templates]:
    """The templates of reviews, each estimated on the half of the sample that does not hold the review.

    Args:
        sums: rows of `POSITIONAL_SUMS_SCHEMA` of one model and variant, of all shards.
        ranks: rank of each review in the sample: even ranks are one half, odd ranks the other.

    Returns:
        For each review, T (heads, n, n) by index of the block from 0, number of tokens and window.

    Raises:
        HomogenizationError: when a template is asked for and the other half has no reviews.
    """
    of_all = PositionalSums.of_table(sums)
    # chunks of the queries of a review follow one another in a block
    return [lru_cache(maxsize=1)(partial(_template, of_all, 1 - rank % 2)) for rank in ranks]


def _template(sums: PositionalSums, half: int, block: int, n_tokens: int, window: int | None) -> np.ndarray:
    return template_of(sums, block + 1, n_tokens, half, window)
