"""Singular values and cosines of the tokens of all reviews of a shard together, centred by their common mean.

Some papers pool tokens over texts before they measure how alike they are. This is the anisotropy of a cloud of tokens,
whatever text they are from; the measures of single reviews ask how alike the tokens of one text are.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.directions import unit_rows
from homogenization.measures.eigenvalues import symmetric_eigenvalues
from homogenization.measures.geometry import token_geometry
from homogenization.measures.reviews import OVERFLOW, TokenStates, measured_table
from homogenization.metrics.gram import roots_of
from homogenization.run.errors import HomogenizationError
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM

_BLOCK_TOKENS = 4096
COSINE_BINS = 40
_PAIRED_TOKENS = 1024  # all pairs of a shard are too many for a histogram
RAW, CENTRED = "pooled", "pooled_centred"
_WITHOUT_FIRST = "_without_first"

#: A row for each layer, point and view.
POOLED_SCHEMA = {
    **columns("model", "variant", "shard", "layer", "point", "depth"),
    "view": pl.String,  #: as in `pooled.parquet`
    "n_tokens": pl.Int64,  #: tokens of all reviews
    "width": pl.Int64,  #: of the residual stream
    "cosine_anisotropy": pl.Float64,  #: mean cosine of pairs
    "cosine_std": pl.Float64,  #: standard deviation of the cosines; NaN in the views without `centred`
    "cosine_histogram": pl.List(pl.Int64),  #: pairs in equal bins on [−1, 1]; empty in the views without `centred`
    "singular_values": pl.List(pl.Float64),  #: descending; empty in the views without `centred`
}
SCHEMAS = (POOLED_SCHEMA,)
# tokens, which of them are the first of a review, which are drawn for the distribution of cosines
Block = tuple[np.ndarray, np.ndarray, np.ndarray]


def measure(store: TokenStates) -> pl.DataFrame:
    """Pooled tokens at every point and layer of a store: the table `pooled` of one job (`POOLED_SCHEMA`).

    Views are `pooled` (tokens as they are) and `pooled_centred` (minus the mean of all tokens of the view), each with
    all tokens and, as `..._without_first`, without the first token of each review. Cosine anisotropy is the mean
    cosine over all pairs of tokens of the shard. Singular values, and the distribution of the cosines (standard
    deviation and histogram), are of the centred views alone; the latter is over the pairs of 1,024 tokens
    drawn at random, the same at every layer. A view of fewer than two tokens has no row.

    Raises:
        HomogenizationError: states that are not finite.
    """
    return measured_table(_rows(store), store, POOLED_SCHEMA)


def _rows(store: TokenStates) -> Iterator[dict[str, Any]]:
    is_first = np.zeros(int(store.review_offsets[-1]), dtype=bool)
    is_first[store.review_offsets[:-1]] = True
    is_drawn = np.zeros(len(is_first), dtype=bool)
    is_drawn[np.random.default_rng(0).permutation(len(is_first))[:_PAIRED_TOKENS]] = True
    points = [(RESIDUAL_STREAM, layer, partial(store.residual_stream, layer)) for layer in store.layers]
    if len(is_first) and store.final_norm(slice(0, 1)) is not None:
        points.append((FINAL_NORM, store.n_blocks, store.final_norm))
    for point, layer, read in points:
        place = {"shard": store.attributes["shard"], "layer": layer, "point": point}
        blocks = partial(_blocks, read, is_first, is_drawn, f"{point}, layer {layer}")
        yield from ({**place, **row} for row in pooled(blocks))
        print(f"{point}, layer {layer}: {len(is_first)} tokens", flush=True)


def _blocks(
    read: Callable[[slice], np.ndarray], is_first: np.ndarray, is_drawn: np.ndarray, where: str
) -> Iterator[Block]:
    """Yield the tokens in parts: float64 (n, width), bool (n,), bool (n,)."""
    for start in range(0, len(is_first), _BLOCK_TOKENS):
        block = slice(start, min(start + _BLOCK_TOKENS, len(is_first)))
        tokens = read(block).astype(np.float64)
        if not np.isfinite(tokens).all():
            raise HomogenizationError(f"{where}: states that are not finite. {OVERFLOW}")
        yield tokens, is_first[block], is_drawn[block]


def pooled(blocks: Callable[[], Iterator[Block]]) -> Iterator[dict[str, Any]]:
    """Yield the columns from view on, of each view of pooled tokens.

    Two walks over the tokens: one for the means, one for a Gram matrix (width, width) of the centred tokens other than
    the first. That of all tokens follows from it by sums of squares alone, in which nothing cancels: with m and m' the
    means of all and of the other n' tokens, it is Gram' + n' (m' - m)(m' - m)^T + the products of the first tokens - m.

    Args:
        blocks: function that begins a walk over the tokens.
    """
    firsts, n_others, sum_of_others = [], 0, 0.0
    for tokens, is_first, _ in blocks():
        firsts.append(tokens[is_first])
        n_others += int((~is_first).sum())
        sum_of_others = sum_of_others + tokens[~is_first].sum(axis=0)
    first = np.concatenate(firsts) if firsts else np.empty((0, 0))
    n_tokens, width = n_others + len(first), first.shape[1]
    if n_tokens < 2:
        return
    mean = (sum_of_others + first.sum(axis=0)) / n_tokens
    mean_of_others = sum_of_others / max(n_others, 1)

    gram = np.zeros((width, width))
    directions = {name: _Directions(width) for name in _views()}
    drawn, drawn_first = [], []
    for tokens, is_first, is_drawn in blocks():
        drawn.append(tokens[is_drawn])
        drawn_first.append(is_first[is_drawn])
        others = tokens[~is_first]
        centred = others - mean_of_others
        gram += centred.T @ centred
        directions[RAW].add(tokens)
        directions[RAW + _WITHOUT_FIRST].add(others)
        directions[CENTRED].add(tokens - mean)
        directions[CENTRED + _WITHOUT_FIRST].add(centred)

    shift, of_first = mean_of_others - mean, first - mean
    grams = {
        CENTRED: gram + n_others * np.outer(shift, shift) + of_first.T @ of_first,
        CENTRED + _WITHOUT_FIRST: gram,
    }
    rows, rows_first = np.concatenate(drawn), np.concatenate(drawn_first)
    chosen = {CENTRED: rows - mean, CENTRED + _WITHOUT_FIRST: rows[~rows_first] - mean_of_others}
    for view in _views():
        n = n_others if view.endswith(_WITHOUT_FIRST) else n_tokens
        if n < 2:
            continue
        values = roots_of(symmetric_eigenvalues(grams[view]))[: min(n, width)] if view in grams else []
        yield {
            "view": view,
            "n_tokens": n,
            "width": width,
            "cosine_anisotropy": directions[view].mean_cosine(),
            **_distribution(chosen.get(view, rows[:0])),
            "singular_values": values,
        }


def _distribution(tokens: np.ndarray) -> dict[str, Any]:
    """Standard deviation and histogram of the cosines of all pairs; NaN and an empty list without a pair."""
    if len(tokens) < 2:
        return {"cosine_std": np.nan, "cosine_histogram": []}
    geometry = token_geometry(tokens, COSINE_BINS)
    return {name: geometry[name] for name in ("cosine_std", "cosine_histogram")}


def _views() -> list[str]:
    return [base + suffix for base in (RAW, CENTRED) for suffix in ("", _WITHOUT_FIRST)]


class _Directions:
    """The sum of unit vectors, from which the mean cosine of all pairs follows (Godey et al. 2024)."""

    def __init__(self, width: int) -> None:
        self._sum, self._n, self._n_directions = np.zeros(width), 0, 0

    def add(self, tokens: np.ndarray) -> None:
        """Add tokens (n, width); a zero token has no direction."""
        units = unit_rows(tokens)
        self._sum += units.sum(axis=0)
        self._n += len(units)
        self._n_directions += int((units != 0).any(axis=1).sum())

    def mean_cosine(self) -> float:
        """Mean of u_i . u_j over i != j."""
        return float((self._sum @ self._sum - self._n_directions) / (self._n * (self._n - 1)))
