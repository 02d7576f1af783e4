"""The attention that tokens receive, and that they would receive if attention were uniform.

Token j of a review of n tokens receives c_j = sum_i A_ij at a layer, A averaged over heads; the c_j sum to n. Uniform
attention gives each key that a query sees the same, so it depends on the mask of the block, windows included. If it is
causal, c_j = sum_{i >= j} 1/i, which is the harmonic number H_n for the first token and 1/n for the last. This is far
from flat, so a raw profile shows the mask before it shows the model.
"""

from collections.abc import Iterator
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
    if (measured := store.attention()) is None:
        return
    received, uniform, first = measured
    for block in range(store.n_blocks):
        for number, (review_id, span) in enumerate(spans_of(store)):
            of_review = received[block, span].astype(np.float64)
            attention = ReceivedAttention(of_review, uniform[block, span], first[number, block])
            yield {
                "review_id": review_id,
                "layer": block + 1,
                "n_tokens": span.stop - span.start,
                **{name: metric.compute(attention) for name, metric in ATTENTION_METRICS.items()},
                "received": profile(attention.received),
                "uniform": profile(attention.uniform),
            }
