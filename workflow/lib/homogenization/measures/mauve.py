"""MAUVE between consecutive layers: how far the tokens of one layer are from those of the next one, with its null.

Pillutla et al. 2021: both samples are quantised together (rows scaled to length 1, PCA to 90 % of the variance,
k-means) and the two histograms p, q compared through the area under their divergence frontier. It ignores scale. Two
samples of one distribution give .94 to .97 rather than 1, and values vary with the seed: compare them with the null,
over seeds.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from scipy.linalg import LinAlgError, eigh
from sklearn.cluster import KMeans

from homogenization.measures.reviews import TokenMeasure, measured_table
from homogenization.metrics.cosines import unit_rows
from homogenization.names.columns import columns
from homogenization.run.errors import HomogenizationError
from homogenization.run.job import announce
from homogenization.states.stream import TokenStates

_EXPLAINED_VARIANCE = 0.9
_STARTS = 5
_MAX_ITERATIONS = 100
_TOKENS_PER_CLUSTER = 10
_MIN_TOKENS = 20  # in each half: two clusters

#: A row for each pair of layers, kind and seed.
MAUVE_SCHEMA = {
    **columns("model", "variant", "layer_from", "layer_to"),
    "depth": pl.Float64,  #: `layer_to` / number of blocks
    "kind": pl.String,  #: `consecutive` or `null`
    "seed": pl.Int64,  #: of the drawn tokens and of the clusters
    "mauve": pl.Float64,  #: the value
    "n_tokens": pl.Int64,  #: tokens of each side
    "n_clusters": pl.Int64,  #: clusters of both together
}
# names of a pair of samples, its unit rows (2 m, d), float32, and a number for each that equal rows alone share
Pair = tuple[dict[str, Any], np.ndarray, np.ndarray]


def frontier_area(p: np.ndarray, q: np.ndarray, scale: float = 5.0, n_points: int = 25) -> float:
    """Area under the divergence frontier of two histograms: 1 where they are equal, near 0 where they are disjoint.

    The frontier runs through (exp(-c KL(q|r)), exp(-c KL(p|r))) for r = w p + (1 - w) q, w from 0 to 1, and ends at
    (1, 0) and (0, 1). Its points are in order by construction: sorting them, as the published code does, breaks ties
    at random and gives equal histograms less than 1.

    Args:
        p: (k,) histogram, sums to 1.
        q: (k,) histogram, sums to 1.
        scale: factor c of the divergences.
        n_points: number of mixture weights w, evenly spaced from 1e-6 to 1 - 1e-6.
    """
    weights = np.linspace(1e-6, 1 - 1e-6, n_points)
    mixtures = np.where(p == q, p, weights[:, None] * p + (1 - weights[:, None]) * q)  # equal ones without rounding
    x = np.concatenate([[1.0], np.exp(-scale * _divergence(q, mixtures)), [0.0]])
    y = np.concatenate([[0.0], np.exp(-scale * _divergence(p, mixtures)), [1.0]])
    return float(-np.trapezoid(y, x))  # x falls


def _divergence(p: np.ndarray, mixtures: np.ndarray) -> np.ndarray:
    """KL(p | r) in nats for each row r of `mixtures`, which is positive wherever p is."""
    support = p > 0
    # rounding can leave a divergence of 0 a little below it
    return (p[support] * np.log(p[support] / mixtures[:, support])).sum(axis=1).clip(min=0.0)


def principal_components(rows: np.ndarray) -> np.ndarray:
    """(n, d) float32 -> (n, k) float32 scores on the fewest principal components with 90 % of the variance.

    The components come from the scatter or the Gram matrix, whichever is smaller. (n, 1) zeros where rows do not vary.
    """
    centred = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    n, width = centred.shape
    variances, vectors = _eigenpairs(centred @ centred.T if n < width else centred.T @ centred)
    variances, vectors = variances[::-1].clip(min=0), vectors[:, ::-1]
    shares = np.cumsum(variances, dtype=np.float64)
    if shares[-1] == 0:
        return np.zeros((n, 1), dtype=np.float32)
    k = int(np.searchsorted(shares, _EXPLAINED_VARIANCE * shares[-1])) + 1
    return vectors[:, :k] * np.sqrt(variances[:k]) if n < width else centred @ vectors[:, :k]


def _eigenpairs(symmetric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ascending eigenvalues and eigenvectors, in columns.

    Divide and conquer can stop without a result; QL, which takes longer, converges always.
    """
    try:
        return eigh(symmetric, driver="evd")
    except LinAlgError:
        return eigh(symmetric, driver="ev")


def clustered(scores: np.ndarray, kinds: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """(n,) cluster of each row of `scores`: the best of several k-means, each from rows drawn as first centres.

    The centres are drawn as the published package draws them, and not by k-means++: its clusters are tighter, and
    they give other values, up to .15 more or less between layers. Equal rows make one centre. Where repeated words, as
    at layer 0, leave fewer distinct rows than clusters, the other clusters stay empty, which changes nothing.

    Args:
        scores: (n, k) principal components.
        kinds: (n,) kinds of the rows that have these scores: scores of equal rows may differ in the last bit, since
            the kernels of some processors take the last rows of a matrix product by other instructions.
        n_clusters: number of clusters.
        seed: seed of the drawn rows.
    """
    generator, best = np.random.default_rng(seed), None
    for _ in range(_STARTS):
        drawn = generator.permutation(len(kinds))
        first_of_its_kind = np.sort(np.unique(kinds[drawn], return_index=True)[1])
        centres = scores[drawn[first_of_its_kind[:n_clusters]]]
        k_means = KMeans(len(centres), init=centres, n_init=1, max_iter=_MAX_ITERATIONS, tol=0).fit(scores)
        if best is None or k_means.inertia_ < best.inertia_:
            best = k_means
    return best.labels_


def mauve(rows: np.ndarray, kinds: np.ndarray, n_clusters: int, seed: int, scale: float = 5.0) -> float:
    """MAUVE of two samples of as many unit rows, (2 m, d) float32: the rows of the first and then of the second.

    Args:
        rows: the rows.
        kinds: (2 m,) int64; equal rows are of one kind.
        n_clusters: clusters of both samples together.
        seed: seed of the clusters.
        scale: scaling factor c of the divergences.
    """
    labels = clustered(principal_components(rows), kinds, n_clusters, seed)
    return frontier_area(*(np.bincount(half, minlength=n_clusters) / len(half) for half in np.split(labels, 2)), scale)


def draw_halves(n_available: int, n_tokens: int | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two disjoint random sets of token indices of the same size, each ascending.

    The size is `n_tokens`, at most half of the available tokens; None stands for that half.

    Raises:
        HomogenizationError: fewer than 20 tokens in a half.
    """
    size = n_available // 2 if n_tokens is None else min(n_tokens, n_available // 2)
    if size < _MIN_TOKENS:
        raise HomogenizationError(
            f"MAUVE: {size} tokens a side (of {n_available} in the shard) are too few, at least {_MIN_TOKENS} are "
            f"needed; use larger shards or more reviews."
        )
    drawn = np.random.default_rng(seed).permutation(n_available)[: 2 * size]
    return np.sort(drawn[:size]), np.sort(drawn[size:])


class Mauve(TokenMeasure):
    """MAUVE from each layer to the next and its split-half null, for each seed: the table `MAUVE_SCHEMA`.

    Two disjoint halves A and B of tokens are drawn for each seed. `consecutive`: layer l of A against layer l + 1 of B,
    where both are stored; `null`: layer l of A against layer l of B. So the two differ in the layer alone. Depth is
    that of `layer_to`. A shard with fewer than 40 tokens, as the last one can have, has no row.

    Args:
        states: states of one shard.
        n_tokens: tokens in a half; fewer where the shard has less than twice as many; None for half of the shard.
        seeds: seeds of the drawn tokens and of the cluster centres.
        scale: scaling factor c of the divergences.
    """

    schemas = (MAUVE_SCHEMA,)

    def __init__(self, states: TokenStates, n_tokens: int | None, seeds: Sequence[int], scale: float = 5.0) -> None:
        self.states, self.scale = states, scale
        n_available = int(states.review_offsets[-1])
        if n_available < 2 * _MIN_TOKENS:
            announce(
                f"MAUVE: left out of shard {states.attributes['shard']} of {states.attributes['variant']}, which has "
                f"{n_available} tokens; at least {2 * _MIN_TOKENS} are needed."
            )
            seeds = ()
        self.halves = {seed: draw_halves(n_available, n_tokens, seed) for seed in seeds}
        drawn = [half for halves in self.halves.values() for half in halves]
        self.rows = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *drawn]))

    def tables(self) -> tuple[pl.DataFrame]:
        """The table."""
        table = measured_table(self._rows(), self.states, MAUVE_SCHEMA, "layer_to")
        return (table.sort("layer_from", "layer_to", "seed"),)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for pair in self._pairs():
            row = _row(pair, self.scale)
            print("layer {layer_from} to {layer_to}, seed {seed}, {kind}: {mauve:.4f}".format(**row), flush=True)
            yield row

    def _pairs(self) -> Iterator[Pair]:
        """Each layer with the one before it, and with itself, for each seed."""
        tokens_of = lru_cache(maxsize=2)(self._tokens_of)
        layers = self.states.layers
        places = {seed: np.searchsorted(self.rows, halves) for seed, halves in self.halves.items()}
        for layer in layers:
            for other, kind in ((layer - 1, "consecutive"), (layer, "null")):
                for seed, (first, second) in places.items() if other in layers else ():
                    (rows, kinds), (rows_to, kinds_to) = tokens_of(other), tokens_of(layer)
                    names = {"layer_from": other, "layer_to": layer, "kind": kind, "seed": seed}
                    yield (
                        names,
                        np.concatenate([rows[first], rows_to[second]]),
                        np.concatenate([kinds[first], kinds_to[second]]),
                    )

    def _tokens_of(self, layer: int) -> tuple[np.ndarray, np.ndarray]:
        """Unit rows of the drawn tokens, and their kinds by 64 bits of hash."""
        tokens = self.states.residual_stream(layer, self.rows)
        return unit_rows(tokens).astype(np.float32), np.array([hash(token.tobytes()) for token in tokens])


def _row(pair: Pair, scale: float) -> dict[str, Any]:
    """The row of a pair of samples."""
    names, rows, kinds = pair
    size = len(rows) // 2
    n_clusters = max(2, round(size / _TOKENS_PER_CLUSTER))
    value = mauve(rows, kinds, n_clusters, names["seed"], scale)
    return {**names, "mauve": value, "n_tokens": size, "n_clusters": n_clusters}
