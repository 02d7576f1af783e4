"""MAUVE between consecutive layers: how far the tokens of one layer are from those of the next one, with its null.

Pillutla et al. 2021: both samples are quantised together (rows scaled to length 1, PCA to 90 % of the variance,
k-means) and the two histograms p, q compared through the area under their divergence frontier. It ignores scale. Two
samples of one distribution give .94 to .97 rather than 1, and values vary with the seed: compare them with the null,
over seeds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from homogenization.measures.reviews import measured_table
from homogenization.metrics.cosines import unit_rows
from homogenization.names.columns import columns
from homogenization.run.log import announce
from homogenization.states.store import StateStore

_EXPLAINED_VARIANCE = 0.9
_DRAWS = 2  # of tokens and of cluster centres, whose spread is reported
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


def frontier_area(p: np.ndarray, q: np.ndarray, scale: float = 5.0) -> float:
    """Area under the divergence frontier of two histograms (k,): 1 where they are equal, near 0 where disjoint.

    The frontier runs through (exp(-c KL(q|r)), exp(-c KL(p|r))) for r = w p + (1 - w) q, with 25 weights w from 1e-6 to
    1 - 1e-6 and c the `scale`, and ends at (1, 0) and (0, 1). Its points are in order by construction: sorting
    them, as the published code does, breaks ties at random and gives equal histograms less than 1.
    """
    weights = np.linspace(1e-6, 1 - 1e-6, 25)
    mixtures = np.where(p == q, p, weights[:, None] * p + (1 - weights[:, None]) * q)  # equal ones without rounding
    x = np.concatenate([[1.0], np.exp(-scale * _divergence(q, mixtures)), [0.0]])
    y = np.concatenate([[0.0], np.exp(-scale * _divergence(p, mixtures)), [1.0]])
    return float(-np.trapezoid(y, x))  # x falls


def _divergence(p: np.ndarray, mixtures: np.ndarray) -> np.ndarray:
    """KL(p | r) in nats for each row r of `mixtures`, which is positive wherever p is."""
    support = p > 0
    # rounding can leave a divergence of 0 a little below it
    return (p[support] * np.log(p[support] / mixtures[:, support])).sum(axis=1).clip(min=0.0)


def mauve(first: np.ndarray, second: np.ndarray, n_clusters: int, seed: int) -> float:
    """MAUVE of two samples of unit rows, (m, d) float32; `seed` draws the first centres of their common clusters."""
    rows = np.concatenate([first, second])
    solver = "covariance_eigh" if rows.shape[1] < len(rows) else "full"
    scores = PCA(_EXPLAINED_VARIANCE, svd_solver=solver).fit_transform(rows) if np.ptp(rows, axis=0).any() else rows
    halves = np.split(_clustered(scores, rows, n_clusters, seed), [len(first)])
    return frontier_area(*(np.bincount(half, minlength=n_clusters) / len(half) for half in halves))


def _clustered(scores: np.ndarray, rows: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """(n,) cluster of each row of (n, k) `scores`: the best of several k-means, each from rows drawn as first centres.

    The centres are drawn as the published package draws them: k-means++ gives values up to .15 more or less. Equal
    `rows` make one centre. Where repeated words, as at layer 0, leave fewer kinds than clusters, others stay empty.
    """
    generator, runs = np.random.default_rng(seed), []
    for _ in range(_STARTS):
        first_of_its_kind: dict[bytes, int] = {}
        for drawn in generator.permutation(len(rows)):
            first_of_its_kind.setdefault(rows[drawn].tobytes(), drawn)
            if len(first_of_its_kind) == n_clusters:
                break
        centres = scores[list(first_of_its_kind.values())]
        runs.append(KMeans(len(centres), init=centres, n_init=1, max_iter=_MAX_ITERATIONS, tol=0).fit(scores))
    return min(runs, key=lambda run: run.inertia_).labels_


def measure(store: StateStore, n_tokens: int, seed: int) -> dict[str, pl.DataFrame]:
    """MAUVE from each layer to the next and its split-half null, for two seeds: the table `mauve` (`MAUVE_SCHEMA`).

    Two disjoint halves A and B of tokens are drawn for each seed. `consecutive`: layer l of A against layer l + 1 of B,
    where both are stored; `null`: layer l of A against layer l of B. A half has `n_tokens`, or fewer where the shard
    has less than twice as many; one with fewer than 40 tokens, as the last shard can have, has no row.
    """
    available = int(store.review_offsets[-1])
    size, seeds = min(n_tokens, available // 2), range(seed, seed + _DRAWS)
    if size < _MIN_TOKENS:
        announce(
            f"MAUVE: left out of shard {store.attributes['shard']} of {store.attributes['variant']}, which has "
            f"{available} tokens; at least {2 * _MIN_TOKENS} are needed."
        )
        seeds = range(0)
    table = measured_table(_rows(store, size, seeds), MAUVE_SCHEMA, store.attributes, store.n_blocks)
    return {"mauve": table.sort("layer_from", "layer_to", "seed")}


def _rows(store: StateStore, size: int, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    n_clusters = max(2, round(size / _TOKENS_PER_CLUSTER))
    drawn = {seed: np.random.default_rng(seed).permutation(store.review_offsets[-1])[: 2 * size] for seed in seeds}
    halves = {seed: [np.sort(half) for half in np.split(tokens, 2)] for seed, tokens in drawn.items()}
    before: np.ndarray | None = None
    for layer in store.layers if halves else ():
        tokens = unit_rows(store.residual_stream(layer)).astype(np.float32)
        pairs = {"null": (layer, tokens)}
        if before is not None and layer - 1 in store.layers:
            pairs["consecutive"] = (layer - 1, before)
        for kind, (other, of_other) in pairs.items():
            for seed, (a, b) in halves.items():
                value = mauve(of_other[a], tokens[b], n_clusters, seed)
                print(f"layer {other} to {layer}, seed {seed}, {kind}: {value:.4f}", flush=True)
                place = {"layer_from": other, "layer_to": layer, "kind": kind, "seed": seed}
                yield place | {"mauve": value, "n_tokens": size, "n_clusters": n_clusters}
        before = tokens
