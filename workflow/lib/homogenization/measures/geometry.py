"""Norms and directions of one review's tokens: how long they are, and how alike they point.

With unit tokens u_i = x_i / |x_i|: the resultant length is |mean u_i|, and the pairwise cosines are u_i . u_j, i < j.
A zero token has no direction; it counts as u = 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.reviews import OfReview, ReviewMeasure
from homogenization.measures.views import TokenGram
from homogenization.names.columns import columns
from homogenization.states.stream import TokenStates

#: A row for each review, point and layer. The "rest" are the tokens after the first.
GEOMETRY_SCHEMA = {
    **columns("model", "variant", "review_id", "point", "layer", "depth", "n_tokens", "width"),
    "first_token": pl.Int64,  #: id of the first token
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
    "cosine_histogram": pl.List(pl.Int64),  #: pairs in 40 equal bins on [−1, 1]
    "cosine_histogram_without_first": pl.List(pl.Int64),  #: pairs of the rest
}


def token_geometry(tokens: np.ndarray, n_bins: int = 40) -> dict[str, float | np.ndarray]:
    """The recorded numbers of one token matrix.

    Args:
        tokens: (n, d), n >= 1, any float type; finite. All arithmetic is float64.
        n_bins: equal bins of the histograms over [-1, 1].

    Returns:
        resultant_length, n_directed (tokens that are not zero), cosine_std (population standard deviation over pairs
        i < j), each also `_without_first`; norm_first, and norm_rest_mean, _median, _max of the tokens after the first;
        squared_norm_share_first, |x_1|^2 / sum |x_i|^2; cosine_to_first, mean over the other tokens;
        cosine_histogram (n_bins,) int64 of the pairs, also `_without_first`. A number is NaN where its tokens
        or pairs are missing. A bin includes its left edge, the last bin both edges; a cosine that equals an edge up to
        rounding (1e-16) may fall on either side.
    """
    return geometry_of(TokenGram(tokens.astype(np.float64)), n_bins)


def geometry_of(gram: TokenGram, n_bins: int = 40) -> dict[str, float | np.ndarray]:
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
        **_histograms(cosines, n_bins),
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


def _histograms(cosines: np.ndarray, n_bins: int) -> dict[str, np.ndarray]:
    """Counts of the pairs i < j, with and without the pairs of the first token."""
    # truncation is rounding down here, and faster; cosines may lie outside [-1, 1] by rounding
    bins = ((cosines + 1.0) * (n_bins / 2)).astype(np.int64).clip(0, n_bins - 1)
    both_ways = np.bincount(bins.ravel(), minlength=n_bins) - np.bincount(bins.diagonal(), minlength=n_bins)
    pairs = both_ways // 2
    return {
        "cosine_histogram": pairs,
        "cosine_histogram_without_first": pairs - np.bincount(bins[0, 1:], minlength=n_bins),
    }


@dataclass(frozen=True)
class Geometry(ReviewMeasure):
    """Geometry of every review, point and layer: the table `GEOMETRY_SCHEMA`."""

    schemas = (GEOMETRY_SCHEMA,)
    states: TokenStates
    n_bins: int = 40

    @cached_property
    def first_tokens(self) -> dict[str, int]:
        """Id of the first token of each review."""
        states = self.states
        return dict(zip(states.review_ids, states.token_ids[states.review_offsets[:-1]].tolist(), strict=True))

    def of_review(self, place: Mapping[str, Any]) -> OfReview:
        """The row of one review at one point and layer."""
        return partial(_rows, {**place, "first_token": self.first_tokens[place["review_id"]]}, self.n_bins)


def _rows(place: Mapping[str, Any], n_bins: int, gram: TokenGram) -> list[dict[str, Any]]:
    return [{**place, **geometry_of(gram, n_bins)}]
