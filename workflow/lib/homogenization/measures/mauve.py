"""MAUVE between consecutive layers: how far the token cloud of one layer is from the next one's, with its null.

Pillutla et al. 2021: both clouds are quantised together (rows scaled to length 1, PCA to 90 % of the variance, k-means)
and the two histograms p, q compared through the area under their divergence frontier. It ignores scale. Two samples of
one distribution give .94 to .97 rather than 1, and values vary with the seed: compare them with the null, over seeds.
"""

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from sklearn.cluster import KMeans

from homogenization.measures.reviews import Each, TokenMeasure, measured_table
from homogenization.metrics.cosines import unit_rows
from homogenization.metrics.gram import eigenvectors
from homogenization.names.columns import columns
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import HomogenizationError
from homogenization.states.stream import OVERFLOW, TokenStates

EXPLAINED_VARIANCE = 0.9
_STARTS = 5
MAX_ITERATIONS = 100
_TOKENS_PER_CLUSTER = 10
_MIN_TOKENS = 20  # in each half: two clusters
_HASHED_TOKENS = 4096
_NAMES = ("layer_from", "layer_to", "kind", "seed")  # of a pair of clouds

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
Halves = dict[int, tuple[np.ndarray, np.ndarray]]  # drawn tokens by seed
# tokens of a layer (n, d), float32 of numpy or torch; and for each a number that equal ones alone share
Layer = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Clouds:
    """Pairs of clouds of the same layers, one for each of some seeds.

    Attributes:
        names: `layer_from`, `layer_to`, `kind` and `seed` of each pair.
        first, second: (pairs, m, d) unit rows, float32 of numpy or torch.
        kinds: (pairs, 2 m) int64; equal tokens are of one kind.
    """

    names: Sequence[dict[str, Any]]
    first: Any
    second: Any
    kinds: np.ndarray


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


def principal_components(rows: np.ndarray, explained: float = EXPLAINED_VARIANCE) -> np.ndarray:
    """(n, d) float32 -> (n, k) float32 scores on the fewest principal components with `explained` of the variance.

    The components come from the scatter or the Gram matrix, whichever is smaller. (n, 1) zeros where rows do not vary.
    """
    centred = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    n, width = centred.shape
    gram = n < width
    variances, vectors = leading_components(centred @ centred.T if gram else centred.T @ centred, explained)
    if not len(variances):
        return np.zeros((n, 1), dtype=np.float32)
    return vectors * np.sqrt(variances) if gram else centred @ vectors


def leading_components(
    products: np.ndarray, explained: float, variance: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The fewest largest eigenvalues (k,) that add up to `explained` of `variance`, and their eigenvectors (m, k).

    Args:
        products: (m, m) symmetric, not negative.
        explained: share of the variance.
        variance: None for the sum of all eigenvalues. Where it is 0, k is 0.
    """
    variances, vectors = eigenvectors(products)
    variances, vectors = variances[::-1].clip(min=0), vectors[:, ::-1]
    shares = np.cumsum(variances, dtype=np.float64)
    total = shares[-1] if variance is None else variance
    k = int(np.searchsorted(shares, explained * total)) + 1 if total > 0 else 0
    return variances[:k], vectors[:, :k]


def clustered(scores: np.ndarray, kinds: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """(n,) cluster of each row of `scores`: the best of several k-means, each from rows drawn as first centres.

    The centres are drawn as the published package draws them, and not by k-means++: its clusters are tighter, and
    they give other values, up to .15 more or less between layers. Equal rows make one centre. Where repeated words, as
    at layer 0, leave fewer distinct rows than clusters, the other clusters stay empty, which changes nothing.

    Args:
        scores: (n, k) principal components.
        kinds: (n,) kinds of the rows that have these scores (`Clouds`). Scores of equal rows may differ in the last
            bit, since the kernels of some processors take the last rows of a matrix product by other instructions.
        n_clusters: number of clusters.
        seed: seed of the drawn rows.
    """
    best = None
    for drawn in drawn_centres(kinds, seed, n_clusters):
        centres = scores[drawn]
        k_means = KMeans(len(centres), init=centres, n_init=1, max_iter=MAX_ITERATIONS, tol=0).fit(scores)
        if best is None or k_means.inertia_ < best.inertia_:
            best = k_means
    return best.labels_


def drawn_centres(kinds: np.ndarray, seed: int, n_clusters: int) -> Iterator[np.ndarray]:
    """The rows, of which `kinds` (n,) are given, that are the first centres of each k-means: at most `n_clusters`."""
    generator = np.random.default_rng(seed)
    for _ in range(_STARTS):
        drawn = generator.permutation(len(kinds))
        first_of_its_kind = np.sort(np.unique(kinds[drawn], return_index=True)[1])
        yield drawn[first_of_its_kind[:n_clusters]]


def mauve(labels: np.ndarray, n_clusters: int, scale: float = 5.0) -> float:
    """MAUVE of two clouds, from the clusters (2 m,) of the rows of the first one and then of the second."""
    return frontier_area(*(np.bincount(half, minlength=n_clusters) / len(half) for half in np.split(labels, 2)), scale)


def values_of(clouds: Clouds, n_clusters: int, scale: float) -> list[tuple[dict[str, Any], float]]:
    """What tells each pair of clouds apart, and its MAUVE; in a worker."""
    found = []
    for names, *pair, kinds in zip(clouds.names, clouds.first, clouds.second, clouds.kinds, strict=True):
        labels = clustered(principal_components(np.concatenate(pair)), kinds, n_clusters, names["seed"])
        found.append((names, mauve(labels, n_clusters, scale)))
    return found


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
    that of `layer_to`. A rewritten variant of which the shard has too few tokens, because few of its reviews were
    rewritten, has no row.

    Args:
        states: states of one shard.
        n_tokens: tokens in a half; fewer where the shard has less than twice as many; None for half of the shard.
        seeds: seeds of the drawn tokens and of the cluster centres.
        scale: scaling factor c of the divergences.

    Raises:
        HomogenizationError: originals with fewer than 20 tokens in a half, or states that are not finite.
    """

    schemas = (MAUVE_SCHEMA,)

    def __init__(self, states: TokenStates, n_tokens: int | None, seeds: Sequence[int], scale: float = 5.0) -> None:
        self.states, self.scale = states, scale
        self.halves = _halves(states, n_tokens, seeds)
        self.rows = union(self.halves)

    def tables(self, each: Each) -> tuple[pl.DataFrame]:
        """The table."""
        table = measured_table(self._rows(each), self.states, MAUVE_SCHEMA, "layer_to")
        return (table.sort("layer_from", "layer_to", "seed"),)

    def values(self, n_clusters: int, each: Each) -> Iterable[tuple[dict[str, Any], float]]:
        """What tells each pair of clouds apart, and its MAUVE."""
        return values_on_cpu(self.states, self.halves, n_clusters, self.scale, each)

    def _rows(self, each: Each) -> Iterator[dict[str, Any]]:
        if not self.halves:
            n_tokens = self.states.review_offsets[-1]
            logging.warning("MAUVE: left out, since this shard of the variant has %d tokens", n_tokens)
            return
        size = len(next(iter(self.halves.values()))[0])
        n_clusters = max(2, round(size / _TOKENS_PER_CLUSTER))
        for pair, value in self.values(n_clusters, each):
            print("layer {layer_from} to {layer_to}, seed {seed}, {kind}: ".format(**pair) + f"{value:.4f}", flush=True)
            yield {**pair, "mauve": value, "n_tokens": size, "n_clusters": n_clusters}


def values_on_cpu(
    states: TokenStates, halves: Halves, n_clusters: int, scale: float, each: Each, done: Container[tuple] = ()
) -> Iterator[tuple[dict[str, Any], float]]:
    """What tells each pair of clouds apart, and its MAUVE, but for those that are `done`; arguments as in `Mauve`."""

    def read(layer: int, tokens: np.ndarray) -> Layer:
        rows = states.residual_stream(layer, tokens)
        return rows, hashes(rows.view(np.int32), hash_weights(rows.shape[1]))

    one_by_one = clouds_of(read, states.layers, halves, 1, done)
    yield from chain.from_iterable(each(partial(values_of, n_clusters=n_clusters, scale=scale), one_by_one))


def _halves(states: TokenStates, n_tokens: int | None, seeds: Sequence[int]) -> Halves:
    """The drawn tokens by seed; none for a rewritten variant of which the shard has too few."""
    n_available = int(states.review_offsets[-1])
    if n_available < 2 * _MIN_TOKENS and states.attributes["variant"] != ORIGINAL:
        return {}
    return {seed: draw_halves(n_available, n_tokens, seed) for seed in seeds}


def union(halves: Halves) -> np.ndarray:
    """All drawn tokens, int64, ascending."""
    return np.unique(
        np.concatenate([np.empty(0, dtype=np.int64), *(half for pair in halves.values() for half in pair)])
    )


def hash_weights(width: int) -> np.ndarray:
    """(width,) int64 random factors for `hashes`."""
    bounds = np.iinfo(np.int64)
    return np.random.default_rng(0).integers(bounds.min, bounds.max, width)


def hashes(bits: Any, weights: Any) -> np.ndarray:
    """(n,) int64 numbers of rows of integers (n, d), with as many `weights`, both of numpy or torch.

    Sums of integers do not depend on their order, so that equal rows have equal ones; those of others are 64 random
    bits.
    """
    parts = [(bits[at : at + _HASHED_TOKENS] * weights).sum(-1) for at in range(0, len(bits), _HASHED_TOKENS)]
    return np.concatenate([part.cpu().numpy() if hasattr(part, "cpu") else part for part in parts])


def clouds_of(
    read: Callable[[int, np.ndarray], Layer],
    layers: Sequence[int],
    halves: Halves,
    together: int,
    done: Container[tuple[Any, ...]],
) -> Iterator[Clouds]:
    """The pairs of clouds of every layer, with itself and with the one before it, that are not `done`.

    Args:
        read: reads tokens of a layer; of each layer once.
        layers: layers of the states, ascending.
        halves: drawn tokens by seed.
        together: pairs that go together.
        done: layers, kind and seed of the pairs that are done.

    Raises:
        HomogenizationError: states that are not finite.
    """
    tokens = union(halves)
    # (seeds, 2, m) places of the halves among the tokens that are read
    drawn = np.stack([[np.searchsorted(tokens, half) for half in pair] for pair in halves.values()])
    cached = lru_cache(maxsize=2)(partial(read, tokens=tokens))
    for layer in layers:
        for other, kind in ((layer - 1, "consecutive"), (layer, "null")):
            pairs = [(other, layer, kind, seed) for seed in halves]
            left = [place for place, pair in enumerate(pairs) if other in layers and pair not in done]
            for start in range(0, len(left), together):
                part = left[start : start + together]
                clouds, numbers = [], []
                for of_layer, half in ((other, 0), (layer, 1)):
                    rows, hashed = cached(of_layer)
                    clouds.append(_unit(rows[drawn[part, half]], of_layer))
                    numbers.append(hashed[drawn[part, half]])
                kinds = [np.unique(of_pair, return_inverse=True)[1] for of_pair in np.concatenate(numbers, axis=1)]
                names = [dict(zip(_NAMES, pairs[place], strict=True)) for place in part]
                yield Clouds(names, *clouds, np.stack(kinds))


def _unit(rows: Any, layer: int) -> Any:
    """Rows (..., n, d) of a layer scaled to length 1, float32."""
    units = unit_rows(rows)
    units = units.astype(np.float32) if isinstance(units, np.ndarray) else units
    if not bool(abs(units).max() < np.inf):
        raise HomogenizationError(f"layer {layer}: states that are not finite. {OVERFLOW}")
    return units
