"""The attention that tokens receive, and that they would receive if attention were uniform.

Token j of a review of n tokens receives c_j = sum_i A_ij at a layer, A averaged over heads; the c_j sum to n. Under
uniform *causal* attention c_j = sum_{i >= j} 1/i, which is the harmonic number H_n for the first token and 1/n for the
last. This is far from flat, so a raw profile shows the mask before it shows the model. A sliding window is part of the
mask: a causal query that sees at most w keys gives each of them at least 1/w.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.reviews import TokenMeasure, measured_table
from homogenization.names.columns import columns
from homogenization.run.errors import HomogenizationError
from homogenization.states.stream import TokenStates

# Relative: rows of a softmax that was rounded to bfloat16 sum to 1 within 2^-9.
_SUM_TOLERANCE = 0.01

#: A row for each review and block.
ATTENTION_SCHEMA = {
    **columns("model", "variant", "review_id"),
    "layer": pl.Int32,  #: the block, from 1
    **columns("depth", "n_tokens"),
    "first_token_share": pl.Float64,  #: c₁ / n
    "uniform_first_token_share": pl.Float64,  #: the same under uniform attention
    #: mean c_j in 20 bins of relative position, without the first token; NaN in an empty bin
    "received": pl.List(pl.Float64),
    "uniform": pl.List(pl.Float64),  #: the same under uniform attention
    "tokens": pl.List(pl.Int64),  #: tokens in each bin
}


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


def position_bins(n: int, n_bins: int) -> np.ndarray:
    """(n - 1,) bin of each token after the first by its relative position j / (n - 1), j = 1 .. n - 1; the last is 1.

    Bins are [k / n_bins, (k + 1) / n_bins), the last one closed; integer arithmetic keeps edges exact.
    """
    return np.minimum(np.arange(1, n) * n_bins // max(n - 1, 1), n_bins - 1)


def attention_profile(received: np.ndarray, uniform: np.ndarray, n_bins: int = 20) -> dict[str, float | np.ndarray]:
    """The profile of one review at one layer.

    Args:
        received: (n,) c_j, n >= 1.
        uniform: (n,) the same under uniform attention.
        n_bins: bins of relative position.

    Returns:
        The columns of `ATTENTION_SCHEMA` from `first_token_share` on: `received`, `uniform` and `tokens` are (n_bins,),
        float64 and int64.
    """
    received = received.astype(np.float64)
    n = len(received)
    bins = position_bins(n, n_bins)
    counts = np.bincount(bins, minlength=n_bins)
    occupied = np.where(counts > 0, counts, np.nan)
    return {
        "first_token_share": float(received[0] / n),
        "uniform_first_token_share": float(uniform[0] / n),
        "received": np.bincount(bins, received[1:], n_bins) / occupied,
        "uniform": np.bincount(bins, uniform[1:], n_bins) / occupied,
        "tokens": counts,
    }


def check_sum(received: np.ndarray, review_id: str, layer: int) -> None:
    """Refuse received attention that does not sum to the number of tokens.

    Raises:
        HomogenizationError: naming review, layer and sum.
    """
    n, total = len(received), float(received.sum(dtype=np.float64))
    if not abs(total - n) <= _SUM_TOLERANCE * n:
        raise HomogenizationError(
            f"review {review_id}, layer {layer}: the attention received by its {n} tokens sums to {total:.6g}, not to "
            f"{n}: the rows of this model's attention do not sum to 1. Set 'record_attention: false' for the states, "
            f"or leave the model out."
        )


@dataclass(frozen=True)
class Attention(TokenMeasure):
    """Profiles of every review and layer (1 .. blocks): the table `ATTENTION_SCHEMA`. It reads no states of tokens."""

    schemas = (ATTENTION_SCHEMA,)
    states: TokenStates
    n_bins: int = 20

    def tables(self) -> tuple[pl.DataFrame]:
        """The table.

        Raises:
            HomogenizationError: attention was not recorded, or sums are not the number of tokens.
        """
        attention = self.states.attention_received()
        if attention is None:
            raise HomogenizationError(
                "the store holds no received attention; set 'record_attention: true' for the states and extract them "
                "again"
            )
        return (measured_table(_rows(self.states, attention, self.n_bins), self.states, ATTENTION_SCHEMA),)


def _rows(store: TokenStates, attention: np.ndarray, n_bins: int) -> Iterator[dict[str, Any]]:
    for layer, (of_layer, window) in enumerate(zip(attention, store.attention_windows, strict=True), start=1):
        for index, review_id in enumerate(store.review_ids):
            received = of_layer[store.review_offsets[index] : store.review_offsets[index + 1]]
            check_sum(received, review_id, layer)
            profile = attention_profile(received, uniform_attention(len(received), store.causal, window), n_bins)
            yield {"review_id": review_id, "layer": layer, "n_tokens": len(received), **profile}
