"""Norms and directions of one review's tokens: how long they are, and how alike they point.

With unit tokens u_i = x_i / |x_i|: the resultant length is |mean u_i|, and the pairwise cosines are u_i . u_j, i < j.
A zero token has no direction; it counts as u = 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.reviews import ReviewMeasure
from homogenization.measures.views import TokenGram
from homogenization.names.columns import columns
from homogenization.states.stream import TokenStates

#: A row for each review, point and layer. The "rest" are the tokens after the first.
GEOMETRY_SCHEMA = {
    **columns("model", "variant", "review_id", "point", "layer", "depth", "n_tokens", "width"),
    "resultant_length": pl.Float64,  #: ‖mean uᵢ‖
    "resultant_length_without_first": pl.Float64,  #: the same over the rest
    "n_directed": pl.Int32,  #: tokens that are not zero
    "n_directed_without_first": pl.Int32,  #: the same among the rest
    "cosine_std": pl.Float64,  #: standard deviation of the cosines of pairs
    "cosine_std_without_first": pl.Float64,  #: the same over pairs of the rest
    "norm_first": pl.Float64,  #: ‖x₁‖
    **dict.fromkeys(("norm_rest_mean", "norm_rest_median", "norm_rest_max"), pl.Float64),  #: ‖xᵢ‖ over the rest
    "squared_norm_share_first": pl.Float64,  #: ‖x₁‖² / Σ‖xᵢ‖²
    "cosine_to_first": pl.Float64,  #: mean cosine of the rest to the first token
}


def token_geometry(tokens: np.ndarray) -> dict[str, float]:
    """The recorded numbers of one token matrix.

    Args:
        tokens: (n, d), n >= 1, any float type; finite. All arithmetic is float64.

    Returns:
        resultant_length, n_directed (tokens that are not zero), cosine_std (population standard deviation over pairs
        i < j), each also `_without_first`; norm_first, and norm_rest_mean, _median, _max of the tokens after the first;
        squared_norm_share_first, |x_1|^2 / sum |x_i|^2; cosine_to_first, mean over the other tokens. A number is NaN
        where its tokens or pairs are missing.
    """
    return geometry_of(TokenGram(tokens.astype(np.float64)))


def geometry_of(gram: TokenGram) -> dict[str, float]:
    """`token_geometry` of one review's tokens, whose inner products are at hand."""
    lengths, cosines = gram.norms, gram.cosines
    of_all, of_rest = gram.resultants
    n = len(lengths)
    energy = lengths @ lengths
    return {
        "resultant_length": of_all / n,
        "resultant_length_without_first": of_rest / (n - 1) if n > 1 else np.nan,
        "n_directed": np.count_nonzero(lengths),
        "n_directed_without_first": np.count_nonzero(lengths[1:]),
        "cosine_std": _pairs_std(cosines),
        "cosine_std_without_first": _pairs_std(cosines[1:, 1:]),
        "norm_first": float(lengths[0]),
        **_norms_of_rest(lengths[1:]),
        "squared_norm_share_first": float(lengths[0] ** 2 / energy) if energy > 0 else np.nan,
        "cosine_to_first": float(cosines[0, 1:].mean()) if n > 1 else np.nan,
    }


def _pairs_std(cosines: np.ndarray) -> float:
    """Standard deviation over the pairs i < j of an (n, n) matrix of cosines."""
    n = len(cosines)
    if n < 2:
        return np.nan
    diagonal = np.diagonal(cosines)
    pairs = n * (n - 1)
    mean = (cosines.sum() - diagonal.sum()) / pairs
    # shifted by the mean, so that nothing cancels where all cosines are near 1
    squares = np.square(cosines - mean).sum() - np.square(diagonal - mean).sum()
    return float(np.sqrt(max(squares, 0.0) / pairs))


def _norms_of_rest(lengths: np.ndarray) -> dict[str, float]:
    if lengths.size == 0:
        return dict.fromkeys(("norm_rest_mean", "norm_rest_median", "norm_rest_max"), np.nan)
    return {
        "norm_rest_mean": float(lengths.mean()),
        "norm_rest_median": float(np.median(lengths)),
        "norm_rest_max": float(lengths.max()),
    }


@dataclass(frozen=True)
class Geometry(ReviewMeasure):
    """Geometry of every review, point and layer: the table `GEOMETRY_SCHEMA`."""

    schemas = (GEOMETRY_SCHEMA,)
    states: TokenStates

    def of_review(self, place: Mapping[str, Any], gram: TokenGram) -> list[dict[str, Any]]:
        """The row of one review at one point and layer."""
        return [{**place, **geometry_of(gram)}]
