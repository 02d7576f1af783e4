"""Patterns: where steering A' = (1 - λ) A + λ P sends the attention that it takes from a model.

To add a pattern, write one function of the attention of a block (`states.forward.Attention`) and the name of the
review's draws that returns P, (heads, queries, keys) or a shape that broadcasts to it, and decorate it. A row of P sums
to 1 and has no mass on what the query does not see. A query to which a pattern does not apply, such as one before the
pattern's token, keeps its own weights. Whatever the pattern, only queries that see the first token are changed.

It does not import torch: every parse of the Snakefile reads the names.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from homogenization.corpus.hashing import seeded_hash

Attention = Tensor = Any

HALF_LIFE = 4  # tokens after which `recency` has fallen to one half
_DRAWN_AT_ONCE = 128  # queries of `permuted`

Pattern = Callable[[Attention, bytes], Tensor]
PATTERNS: dict[str, Pattern] = {}  # by name in the configuration and in tables
CONTROLS: list[str] = []  # names of those that do as much to attention as others, but not what these are about


def pattern(rows: Pattern) -> Pattern:
    """Register the decorated function under its name."""
    PATTERNS[rows.__name__] = rows
    return rows


def control(rows: Pattern) -> Pattern:
    """Register the decorated function, with which other patterns are compared."""
    CONTROLS.append(rows.__name__)
    return pattern(rows)


@pattern
def first(attention: Attention, _draw: bytes) -> Tensor:
    """All mass on the first token."""
    return onto(attention, 0)


@pattern
def second(attention: Attention, _draw: bytes) -> Tensor:
    """All mass on the second token."""
    return onto(attention, 1)


@pattern
def ends(attention: Attention, _draw: bytes) -> Tensor:
    """Half on the first token, half on the last one that the query sees: in a causal model, itself."""
    last = (places(attention) * attention.seen).amax(-1, keepdim=True)
    return (onto(attention, 0) + onto(attention, last)) / 2


@pattern
def recency(attention: Attention, _draw: bytes) -> Tensor:
    """In proportion to 2^(-d / 4), d the distance of query and key."""
    distance = (places(attention)[:, None] - places(attention)).abs()
    return shares(attention, (distance / -HALF_LIFE).exp2())


@pattern
def self(attention: Attention, _draw: bytes) -> Tensor:
    """All mass on the query's own token."""
    return onto(attention, places(attention)[:, None])


@control
def uniform(attention: Attention, _draw: bytes) -> Tensor:
    """The same for all tokens that the query sees."""
    return shares(attention, 1.0)


@control
def scattered(attention: Attention, draw: bytes) -> Tensor:
    """All mass on one token of the review, drawn from its first quarter without the first token."""
    return onto(attention, drawn_place(1, max(2, quarter(len(attention.seen))), draw, "scattered"))


@control
def permuted(attention: Attention, draw: bytes) -> Tensor:
    """The query's own weights in random order over the tokens that it sees, the same for all heads."""
    seen = attention.seen.cpu().numpy()
    random = np.zeros(seen.shape)
    for start in range(0, len(seen), _DRAWN_AT_ONCE):
        rows = seen[start : start + _DRAWN_AT_ONCE]
        n_keys = np.flatnonzero(rows.any(axis=0))[-1] + 1
        name = seeded_hash(0, draw.hex(), "weights", attention.block, start)
        drawn = np.random.default_rng(int.from_bytes(name)).random((len(rows), n_keys))
        random[start : start + len(rows), :n_keys] = drawn
    random[~seen] = 2.0
    order = np.empty(seen.shape, dtype=np.int64)
    # seen keys first, in random order and in their own order
    np.put_along_axis(order, np.argsort(~seen, axis=1, kind="stable"), np.argsort(random, axis=1), axis=1)
    return attention.weights.gather(-1, places(attention).new_tensor(order).expand(attention.weights.shape))


@control
def removed(attention: Attention, _draw: bytes) -> Tensor:
    """No mass at all: rows of A' sum to 1 - λ."""
    return attention.weights.new_zeros(())


def places(attention: Attention) -> Tensor:
    """Places of the tokens in the review, int64 (tokens,)."""
    return attention.seen.new_ones(len(attention.seen)).cumsum(0) - 1


def onto(attention: Attention, place: Tensor | int) -> Tensor:
    """All mass on the key at `place`, one or (queries, 1); a query that does not see it keeps its own weights."""
    hit = (places(attention) == place) & attention.seen
    return hit.to(attention.weights.dtype).where(hit.any(-1, keepdim=True), attention.weights)


def shares(attention: Attention, scores: Tensor | float) -> Tensor:
    """Rows in proportion to `scores` (queries, keys), not negative, over the keys that the query sees."""
    scores = attention.seen.to(attention.weights.dtype) * scores
    return scores / scores.sum(-1, keepdim=True)


def quarter(n_tokens: int) -> int:
    """The first place after the first quarter of a review, at least 1."""
    return max(1, -(-n_tokens // 4))


def drawn_place(low: int, high: int, draw: bytes, purpose: str) -> int:
    """A whole number from `low` to `high`, exclusive, drawn for a review and a purpose."""
    return low + int.from_bytes(seeded_hash(0, draw.hex(), purpose)) % (high - low)
