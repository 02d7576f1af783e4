"""Changes of attention between softmax and values: pure functions of the weights that some queries of a review have.

All of them keep what a model does not see unseen: no mass above the diagonal of a causal model, none beyond a window,
none in another review.
"""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from homogenization.interventions.conditions import OTHERS
from homogenization.interventions.patterns import PATTERNS, Sight
from homogenization.measures.positional import seen_keys
from homogenization.states.attention import AttentionMap, Through

# (index of the block, tokens, window) -> a review's template (heads, n, n), rows sum to 1 over what a query sees
Templates = Callable[[int, int, int | None], np.ndarray]

_PLACES = 128  # chunks of queries in a pass; more are made anew in each block
_LEAST = 1e-6  # of a template, so that dividing by it stays finite


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


def steering(pattern: str, strength: float, draws: Sequence[bytes]) -> Through:
    """A' = (1 - λ) A + λ P, for the queries that see the first token.

    With a sliding window, later queries do not: no pattern changes them, so that patterns and controls change the same.

    Args:
        pattern: name of P in `PATTERNS`.
        strength: λ; at 0, A' is A bit for bit.
        draws: for each review of the pack, the name of its draws.
    """
    rows = PATTERNS[pattern]

    def change(attention: AttentionMap) -> torch.Tensor:
        view = sight(attention, draws[attention.review])
        return view.kept_unless(view.sees_first, (1 - strength) * attention.weights + strength * rows(view))

    return change


def masked(places: Sequence[Collection[int]]) -> Through:
    """Keys that no query reads but their own: their mass goes to the other keys, in proportion.

    A query whose other weights are all 0 reads itself.

    Args:
        places: for each review of the pack, the places of its masked keys.
    """

    def change(attention: AttentionMap) -> torch.Tensor:
        view = sight(attention, b"")
        keys = sorted(places[attention.review])

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


def clipped(bound: float, to: str, sinks: Sequence[int]) -> Through:
    """The mass on the sink, cut to a bound in every row but the sink's own.

    Args:
        bound: most mass on the sink.
        to: what becomes of the rest: `nobody` (rows sum to less than 1) or `others` (the other keys, in proportion; a
            query whose other weights are all 0 reads itself).
        sinks: for each review of the pack, the place of its sink.
    """

    def change(attention: AttentionMap) -> torch.Tensor:
        sink = sinks[attention.review]
        view = sight(attention, b"")
        column = sink - attention.first_key
        if not 0 <= column < len(view.keys):
            return attention.weights
        mass = attention.weights[..., column]
        cut = (mass - bound).clamp(min=0) * view.once(f"not {sink}", lambda: view.tensor(view.queries != sink))
        after = attention.weights.clone()
        after[..., column] = 0
        if to == OTHERS:
            # their own sum: the row's less the sink's mass is no number where the sink has nearly all of it
            total = after.sum(dim=-1, keepdim=True)
            shares = torch.where(total > 0, after / torch.where(total > 0, total, 1.0), view.onto(view.queries))
            after = after + cut[..., None] * shares
        after[..., column] = torch.where(cut > 0, mass.clamp(max=bound), mass)
        return after

    return change


def template(strength: float, templates: Sequence[Templates], draws: Sequence[bytes] | None = None) -> Through:
    """A' in proportion to A T^s, T the attention that position predicts: s = -1 divides it out, s > 0 amplifies it.

    Args:
        strength: s, of either sign.
        templates: for each review of the pack, T.
        draws: for each review, the name of its draws: the template of each query is permuted over what it sees, a
            placebo. None for the template as it is.
    """

    def change(attention: AttentionMap) -> torch.Tensor:
        view = sight(attention, draws[attention.review] if draws else b"")
        whole = templates[attention.review](attention.block, attention.n_tokens, attention.window)
        rows = view.tensor(whole[:, view.queries[0] : view.queries[-1] + 1, view.keys[0] : view.keys[-1] + 1])
        if draws:
            rows = view.permuted(rows, "template")
        changed = attention.weights * rows.clamp(min=_LEAST) ** strength
        return changed / changed.sum(dim=-1, keepdim=True)

    return change
