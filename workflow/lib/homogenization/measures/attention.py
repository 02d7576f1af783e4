"""The attention that tokens receive, and that they would receive if attention were uniform.

Token j of a review of n tokens receives c_j = sum_i A_ij at a layer, A averaged over heads; the c_j sum to n. Under
uniform *causal* attention c_j = sum_{i >= j} 1/i, which is the harmonic number H_n for the first token and 1/n for the
last. This is far from flat, so a raw profile shows the mask before it shows the model. A sliding window is part of the
mask: a causal query that sees at most w keys gives each of them at least 1/w.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.reviews import spans_of
from homogenization.metrics.attention import ATTENTION_METRICS, ReceivedAttention
from homogenization.names.columns import columns
from homogenization.states.store import StateStore

N_BINS = 20
#: A row for each review and block; none where the attention of the architecture is out of reach, or was not recorded.
ATTENTION_SCHEMA = {
    **columns("model", "variant", "review_id"),
    "layer": pl.Int32,  #: the block, from 1
    **columns("depth", "n_tokens"),
    **dict.fromkeys(ATTENTION_METRICS, pl.Float64),  #: the metrics of attention, by their names
    #: mean c_j in 20 bins of relative position, without the first token; NaN in an empty bin
    "received": pl.List(pl.Float64),
    "uniform": pl.List(pl.Float64),  #: the same under uniform attention
}


@lru_cache(1024)
def uniform_attention(n: int, causal: bool, window: int | None = None) -> np.ndarray:
    """(n,) float64 attention received by each token when every query attends equally to all that it can see.

    Args:
        n: tokens of the review.
        causal: whether a query sees only its own key and earlier ones.
        window: distance in tokens from which a query no longer sees a key, at least 1; None for no limit.
    """
    reach = n if window is None else min(window, n)
    tokens = np.arange(n)
    # whom a token sees, and who sees it, from the one to before the other
    first, ahead = np.maximum(tokens - reach + 1, 0), np.minimum(tokens + reach, n)
    seen = (tokens + 1 if causal else ahead) - first
    from_here_on = np.append(np.cumsum(1.0 / seen[::-1])[::-1], 0.0)  # the smallest terms of a causal sum first
    return from_here_on[tokens if causal else first] - from_here_on[ahead]


def profile(received: np.ndarray, n_bins: int = N_BINS) -> np.ndarray:
    """(n_bins,) mean of (n,) attention over the tokens after the first whose relative position is in each bin.

    It is j / (n - 1), j = 1 .. n - 1; bins are [k / n_bins, (k + 1) / n_bins), the last one closed; integer arithmetic
    keeps edges exact. NaN in a bin without tokens.
    """
    n = len(received)
    bins = np.minimum(np.arange(1, n) * n_bins // max(n - 1, 1), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    return np.bincount(bins, received[1:], n_bins) / np.where(counts > 0, counts, np.nan)


def attention_rows(store: StateStore) -> Iterator[dict[str, Any]]:
    """The rows of `ATTENTION_SCHEMA`, without model, variant and depth, block by block."""
    received, first = store.attention_received(), store.attention_first()
    if received is None or first is None:
        return
    for block, window in enumerate(store.attention_windows):
        for number, (review_id, span) in enumerate(spans_of(store)):
            n = span.stop - span.start
            of_review = received[block, span].astype(np.float64)
            attention = ReceivedAttention(of_review, uniform_attention(n, store.causal, window), first[number, block])
            yield {
                "review_id": review_id,
                "layer": block + 1,
                "n_tokens": n,
                **{name: metric.compute(attention) for name, metric in ATTENTION_METRICS.items()},
                "received": profile(attention.received),
                "uniform": profile(attention.uniform),
            }
