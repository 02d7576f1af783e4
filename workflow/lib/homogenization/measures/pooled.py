"""Singular values and cosines of the tokens of all reviews of a shard together, as they are and minus their mean.

Some papers pool tokens over texts before they measure how alike they are. This is the anisotropy of a sample of tokens,
whatever text they are from; the measures of single reviews ask how alike the tokens of one text are.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.reviews import measured_table
from homogenization.measures.spectra import band_of, roots_of
from homogenization.metrics.cosines import mean_of_pairs, unit_rows
from homogenization.metrics.geometry import TokenMatrix, cosine_dispersion
from homogenization.names.columns import columns
from homogenization.states.store import StateStore

_AT_ONCE = 4096  # tokens in float64
_PAIRED_TOKENS = 1024  # all pairs of a shard are too many

#: A row for each layer, point and view.
POOLED_SCHEMA = {
    **columns("model", "variant", "shard", "layer", "point", "depth"),
    "view": pl.String,  #: as in `pooled.parquet`
    "n_tokens": pl.Int64,  #: tokens of all reviews
    "width": pl.Int64,  #: of the residual stream
    "cosine_anisotropy": pl.Float64,  #: mean cosine of pairs
    "cosine_std": pl.Float64,  #: standard deviation of the cosines; null in the views without `centred`
    "singular_values": pl.List(pl.Float64),  #: descending; null in the views without `centred`
}


def measure(store: StateStore) -> dict[str, pl.DataFrame]:
    """Pooled tokens at every point and layer: the table `pooled` (`POOLED_SCHEMA`).

    Views are `pooled` (tokens as they are) and `pooled_centred` (minus the mean of all tokens of the view), each with
    all tokens and, as `..._without_first`, without the first token of each review. Singular values, and the standard
    deviation of the cosines of 1,024 tokens drawn at random, the same at every layer, are of the centred views alone.
    A view of fewer than two tokens has no row.
    """
    return {"pooled": measured_table(_rows(store), POOLED_SCHEMA, store.attributes, store.n_blocks)}


def _rows(store: StateStore) -> Iterator[dict[str, Any]]:
    n = int(store.review_offsets[-1])
    drawn = np.sort(np.random.default_rng(0).permutation(n)[:_PAIRED_TOKENS])
    others = np.delete(np.arange(n), store.review_offsets[:-1])
    for point, layer, states in store.points():
        for suffix, chosen in (("", np.arange(n)), ("_without_first", others)):
            if len(chosen) < 2:
                continue
            place = {"shard": store.attributes["shard"], "layer": layer, "point": point}
            place |= {"n_tokens": len(chosen), "width": states.shape[1]}
            tokens, paired = states[chosen], states[np.intersect1d(drawn, chosen)]
            as_they_are = {"cosine_anisotropy": _mean_cosine(tokens, 0.0), "cosine_std": None, "singular_values": None}
            yield place | {"view": f"pooled{suffix}"} | as_they_are
            yield place | {"view": f"pooled_centred{suffix}"} | _centred(tokens, paired)
        print(f"{point}, layer {layer}: {n} tokens", flush=True)


def _centred(tokens: np.ndarray, paired: np.ndarray) -> dict[str, Any]:
    """The numbers of (n, d) tokens minus their mean; the pairs of cosines are those of `paired`."""
    mean, (n, width) = tokens.mean(axis=0, dtype=np.float64), tokens.shape
    gram = sum(rows.T @ rows for rows in _blocks(tokens, mean))
    return {
        "cosine_anisotropy": _mean_cosine(tokens, mean),
        "cosine_std": cosine_dispersion(TokenMatrix(paired - mean)),
        "singular_values": roots_of(band_of(gram), min(n - 1, width)),
    }


def _mean_cosine(tokens: np.ndarray, mean: np.ndarray | float) -> float:
    """Mean cosine of all pairs of (n, d) tokens minus `mean`."""
    resultant, n_directed = 0.0, 0
    for rows in _blocks(tokens, mean):
        units = unit_rows(rows)
        resultant, n_directed = resultant + units.sum(axis=0), n_directed + units.any(axis=1).sum()
    return float(mean_of_pairs(resultant @ resultant, n_directed, len(tokens)))


def _blocks(tokens: np.ndarray, mean: np.ndarray | float) -> Iterator[np.ndarray]:
    """Tokens minus `mean` in float64, some at a time."""
    return (tokens[start : start + _AT_ONCE].astype(np.float64) - mean for start in range(0, len(tokens), _AT_ONCE))
