"""Singular values and cosines of the tokens of all reviews of a shard together, centred by their common mean.

Some papers pool tokens over texts before they measure how alike they are. This is the anisotropy of a sample of tokens,
whatever text they are from; the measures of single reviews ask how alike the tokens of one text are.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.geometry import token_geometry
from homogenization.measures.reviews import TokenMeasure, measured_table
from homogenization.measures.views import look_of
from homogenization.metrics.cosines import mean_of_pairs, unit_rows
from homogenization.metrics.gram import roots_of, symmetric_eigenvalues
from homogenization.names.columns import columns
from homogenization.states.stream import TokenStates, points_of

_BLOCK_TOKENS = 4096
_PAIRED_TOKENS = 1024  # all pairs of a shard are too many
RAW, CENTRED = "pooled", "pooled_centred"
_WITHOUT_FIRST = "_without_first"
_VIEWS = (RAW, RAW + _WITHOUT_FIRST, CENTRED, CENTRED + _WITHOUT_FIRST)

#: A row for each layer, point and view.
POOLED_SCHEMA = {
    **columns("model", "variant", "shard", "layer", "point", "depth"),
    "view": pl.String,  #: as in `pooled.parquet`
    "n_tokens": pl.Int64,  #: tokens of all reviews
    "width": pl.Int64,  #: of the residual stream
    "cosine_anisotropy": pl.Float64,  #: mean cosine of pairs
    "cosine_std": pl.Float64,  #: standard deviation of the cosines; NaN in the views without `centred`
    "singular_values": pl.List(pl.Float64),  #: descending; empty in the views without `centred`
}


class Pooled(TokenMeasure):
    """Pooled tokens at every point and layer: the table `POOLED_SCHEMA` of one job.

    Views are `pooled` (tokens as they are) and `pooled_centred` (minus the mean of all tokens of the view), each with
    all tokens and, as `..._without_first`, without the first token of each review. Cosine anisotropy is the mean
    cosine over all pairs of tokens of the shard. Singular values, and the standard deviation of the cosines, are of the
    centred views alone; the latter is over the pairs of 1,024 tokens
    drawn at random, the same at every layer. A view of fewer than two tokens has no row.

    Args:
        states: states of one shard.
    """

    schemas = (POOLED_SCHEMA,)

    def __init__(self, states: TokenStates) -> None:
        self.states = states

    def tables(self) -> tuple[pl.DataFrame]:
        """The table."""
        return (measured_table(self._rows(), self.states, POOLED_SCHEMA),)

    def _rows(self) -> Iterator[dict[str, Any]]:
        n_tokens = int(self.states.review_offsets[-1])
        if n_tokens < 2:
            return
        is_first = np.zeros(n_tokens, dtype=bool)
        is_first[self.states.review_offsets[:-1]] = True
        drawn = np.sort(np.random.default_rng(0).permutation(n_tokens)[:_PAIRED_TOKENS])
        for point, layer, tokens in points_of(self.states):
            place = {"shard": self.states.attributes["shard"], "layer": layer, "point": point}
            for of_view in _measured(tokens, is_first, drawn):
                yield {**place, "width": tokens.shape[1], **of_view}
            print(f"{point}, layer {layer}: {n_tokens} tokens", flush=True)


def _measured(tokens: np.ndarray, is_first: np.ndarray, drawn: np.ndarray) -> Iterator[dict[str, Any]]:
    """What is measured of each view with at least two tokens; a block of tokens at a time is in float64.

    The Gram matrix of all tokens follows from that of the others than the first, by sums of squares alone, in which
    nothing cancels: with m and m' the means of all and of the other n' tokens, it is Gram' + n' (m' - m)(m' - m)^T +
    the products of the first tokens - m.

    Args:
        tokens: (n, width) float32.
        is_first: bool (n,), whether each is the first of a review.
        drawn: the tokens whose cosines are counted.
    """
    blocks = [slice(start, start + _BLOCK_TOKENS) for start in range(0, len(tokens), _BLOCK_TOKENS)]
    first = tokens[is_first].astype(np.float64)
    n = {False: len(tokens), True: len(tokens) - len(first)}  # by whether the first tokens are left out
    total: Any = 0.0
    for block in blocks:
        total = total + tokens[block][~is_first[block]].astype(np.float64).sum(axis=0)
    mean = {False: (total + first.sum(axis=0)) / n[False], True: total / max(n[True], 1)}
    gram: Any = 0.0
    directions: dict[str, tuple[Any, Any]] = dict.fromkeys(_VIEWS, (0.0, 0))
    for block in blocks:
        every = tokens[block].astype(np.float64)
        others = every[~is_first[block]]
        centred = others - mean[True]
        gram = gram + centred.T @ centred
        of_views = (every, others, every - mean[False], centred)
        for view, of_view in zip(_VIEWS, of_views, strict=True):
            units = unit_rows(of_view)
            resultant, n_directed = directions[view]
            directions[view] = resultant + units.sum(axis=0), n_directed + (units != 0).any(axis=1).sum()
    shift, of_first = mean[True] - mean[False], first - mean[False]
    grams = {False: gram + n[True] * np.outer(shift, shift) + of_first.T @ of_first, True: gram}
    for view in _VIEWS:
        without_first = view.endswith(_WITHOUT_FIRST)
        n_tokens = n[without_first]
        if n_tokens < 2:
            continue
        resultant, n_directed = directions[view]
        mean_cosine = float(mean_of_pairs(resultant @ resultant, n_directed, n_tokens))
        row = {"view": view, "n_tokens": n_tokens, "cosine_anisotropy": mean_cosine}
        if not view.startswith(CENTRED):
            yield {**row, "cosine_std": np.nan, "singular_values": []}
            continue
        chosen = drawn[~is_first[drawn]] if without_first else drawn
        centred = tokens[chosen].astype(np.float64) - mean[without_first]
        n_values = look_of("centred")[0].largest_rank(n_tokens, tokens.shape[1])
        yield {
            **row,
            "cosine_std": token_geometry(centred)["cosine_std"] if len(centred) > 1 else np.nan,
            "singular_values": roots_of(symmetric_eigenvalues(grams[without_first]))[:n_values],
        }
