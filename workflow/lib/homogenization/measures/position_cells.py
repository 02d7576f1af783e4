"""Cells of an attention map: where the query stands, and where the key stands for it.

Queries are binned by powers of two: query i (from 0) is in bin floor(log2(i + 1)). Keys are token 0, token 1, or one of
15 bins of distance. A model without causality has 14 cells more, for keys behind the query. A query that sees one key
alone has no choice and is in no cell.
"""

from functools import lru_cache

import numpy as np

QUERY_BINS = 16  # of up to 65,535 tokens
DISTANCES = (0, 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 65, 129, 257)  # the least distance of each bin


def _names(side: str, first: int) -> list[str]:
    """Names of the bins of distance from the bin `first` on."""
    bounds = [*DISTANCES, None]
    ranges = list(zip(bounds[first:-1], bounds[first + 1 :], strict=True))
    spans = [
        f"{low}_up" if stop is None else f"{low}" if stop == low + 1 else f"{low}_{stop - 1}" for low, stop in ranges
    ]
    return [f"{side}_{span}" for span in spans]


CAUSAL_CELLS = ("key_0", "key_1", *_names("distance", 0))
CELLS = (*CAUSAL_CELLS, *_names("ahead", 1))

_CHUNK = 128  # queries at a time
_HALF_LIVES = (2, 8, 32)
UNIFORM = "uniform"
# what a query would attend to if it knew nothing but positions, each a distribution over the keys that it sees
DICTIONARY = ("first", "second", "self", "previous", "next", *(f"recency_{half}" for half in _HALF_LIVES), UNIFORM)


def seen_keys(queries: np.ndarray, keys: np.ndarray, causal: bool, window: int | None) -> np.ndarray:
    """(queries, keys) bool: whether a query sees a key.

    Args:
        queries: positions of queries in their review, from 0.
        keys: positions of keys.
        causal: whether a query sees only its own key and earlier ones.
        window: distance from which a query no longer sees a key; None for no limit.
    """
    distance = queries[:, None] - keys
    seen = distance >= 0 if causal else np.ones(distance.shape, dtype=bool)
    return seen if window is None else seen & (np.abs(distance) < window)


def choices(seen: np.ndarray) -> np.ndarray:
    """`seen` (queries, keys) without the rows of queries that see one key alone."""
    return seen & (seen.sum(axis=1, keepdims=True) > 1)


def query_bins(queries: np.ndarray) -> np.ndarray:
    """(queries,) int64, the bin of each position: floor(log2(i + 1)), the last bin open."""
    return np.minimum(np.frexp(queries + 1)[1] - 1, QUERY_BINS - 1).astype(np.int64)


def key_cells(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """(queries, keys) int64, the index in `CELLS` of each pair, seen or not."""
    distance = queries[:, None] - keys
    bins = np.searchsorted(DISTANCES, np.abs(distance), side="right") - 1
    cells = np.where(distance >= 0, bins + 2, bins + len(CAUSAL_CELLS) - 1)
    return np.where(keys < 2, keys, cells)


def dictionary_templates(queries: np.ndarray, keys: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(templates, queries, keys) float64, in the order of `DICTIONARY`; a row sums to 1, or to 0
    where the template has no key.

    `first` and `second` give all attention to token 0 or 1, `self`, `previous` and `next` to the key at distance 0, 1
    or -1, `uniform` the same to all keys; `recency_h` halves with every h tokens of distance.
    """
    distance = queries[:, None] - keys
    one_key = [np.broadcast_to(keys == key, distance.shape) for key in (0, 1)]
    one_key += [distance == offset for offset in (0, 1, -1)]
    recency = [0.5 ** (np.abs(distance) / half) for half in _HALF_LIVES]
    raw = np.stack([*one_key, *recency, np.ones(distance.shape)]) * seen
    totals = raw.sum(axis=-1, keepdims=True)
    return np.divide(raw, totals, out=np.zeros_like(raw), where=totals > 0)


@lru_cache(maxsize=512)
def expected_sums(n_tokens: int, causal: bool, window: int | None) -> np.ndarray:
    """Sums over the queries of one review that depend on positions alone, float64 (1 + templates, QUERY_BINS, cells).

    First the number of pairs of query and key, then the mass that each template of `DICTIONARY` gives to the cell. The
    mass of `uniform`, summed over cells, is the number of queries.
    """
    n_cells = len(CAUSAL_CELLS if causal else CELLS)
    sums = np.zeros((1 + len(DICTIONARY), QUERY_BINS * n_cells))
    keys = np.arange(n_tokens)
    for start in range(0, n_tokens, _CHUNK):
        queries = np.arange(start, min(start + _CHUNK, n_tokens))
        seen = choices(seen_keys(queries, keys, causal, window))
        index = (query_bins(queries)[:, None] * n_cells + key_cells(queries, keys))[seen]
        values = np.stack([seen, *dictionary_templates(queries, keys, seen)])[:, seen]
        for row, value in zip(sums, values, strict=True):
            row += np.bincount(index, value, minlength=len(row))
    return sums.reshape(-1, QUERY_BINS, n_cells)
