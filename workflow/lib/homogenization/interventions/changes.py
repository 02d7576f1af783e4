"""Changes of attention between softmax and values: pure functions of the weights that some queries of a review have.

All of them keep what a model does not see unseen: no mass above the diagonal of a causal model, none beyond a window.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from homogenization.interventions.patterns import PATTERNS, Sight
from homogenization.states.attention import AttentionMap, Through

_PLACES = 128  # chunks of queries in a pass; more are made anew in each block


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


def sight(attention: AttentionMap, draw: bytes) -> Sight:
    """What the queries of `attention` see; `draw` names the review's draws."""
    weights = attention.weights
    _, n_queries, n_keys = weights.shape
    queries = range(attention.first_query, attention.first_query + n_queries)
    keys = range(attention.first_key, attention.first_key + n_keys)
    sees = attention.causal, attention.window
    *places, kept = _shared(queries, keys, sees, weights.device, weights.dtype, torch.is_inference_mode_enabled())
    return Sight(weights, *places, attention.n_tokens, draw, attention.block, kept)


@lru_cache(maxsize=_PLACES)
def _shared(
    queries: range, keys: range, sees: tuple[bool, int | None], *_: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """What sights of the same places share: queries, keys, whether a query sees a key, and what is kept for them."""
    return np.array(queries), np.array(keys), seen_keys(np.array(queries), np.array(keys), *sees), {}


def steering(pattern: str, strength: float, draw: bytes) -> Through:
    """A' = (1 - λ) A + λ P, for the queries that see the first token.

    With a sliding window, later queries do not: no pattern changes them, so that patterns and controls change the same.

    Args:
        pattern: name of P in `PATTERNS`.
        strength: λ; at 0, A' is A bit for bit.
        draw: name of the review's draws.
    """
    rows = PATTERNS[pattern]

    def change(attention: AttentionMap) -> torch.Tensor:
        view = sight(attention, draw)
        return view.kept_unless(view.sees_first, (1 - strength) * attention.weights + strength * rows(view))

    return change


def masked(places: Collection[int]) -> Through:
    """Keys that no query reads but their own: their mass goes to the other keys, in proportion.

    A query whose other weights are all 0 reads itself.

    Args:
        places: places of the masked keys.
    """

    def change(attention: AttentionMap) -> torch.Tensor:
        view = sight(attention, b"")
        keys = sorted(places)

        def masks() -> tuple[bool, torch.Tensor, torch.Tensor]:
            shut = np.isin(view.keys, keys) & (view.keys != view.queries[:, None])
            return shut.any(), view.tensor(~shut), view.tensor(shut.any(axis=1))[:, None] > 0

        any_shut, is_open, touched = view.once(f"masked {keys}", masks)
        if not any_shut:
            return attention.weights
        open_ = attention.weights * is_open
        total = open_.sum(dim=-1, keepdim=True)
        renormalised = torch.where(touched, open_ / torch.where(total > 0, total, 1.0), open_)
        return torch.where(total > 0, renormalised, view.onto(view.queries))

    return change
