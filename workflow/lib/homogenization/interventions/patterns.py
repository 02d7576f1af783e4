"""Patterns: where steering A' = (1 - λ) A + λ P sends the attention that it takes from a model.

To add a pattern, write one function of a `Sight` that returns P, (heads, queries, keys) or a shape that broadcasts to
it, and decorate it. A row of P sums to 1 and has no mass on what the query does not see. A query to which a pattern
does not apply, such as one before the pattern's token, keeps its own weights. Only queries that see the first token are
changed, by any pattern (`Sight.sees_first`).

It uses the methods of tensors alone and does not import torch: every parse of the Snakefile reads the names.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from homogenization.corpus.hashing import seeded_hash

Tensor = Any  # torch.Tensor

HALF_LIFE = 4  # tokens after which `recency` has fallen to one half


@dataclass(frozen=True)
class Sight:
    """What some queries of one review see, and how they attend to it.

    Attributes:
        weights: attention weights A (heads, queries, keys); 0 where a query does not see a key.
        queries: places of the queries in the review, int64 (queries,), ascending.
        keys: places of the keys, int64 (keys,), ascending and without gaps.
        seen: whether a query sees a key, bool (queries, keys); each query sees its own key.
        n_tokens: tokens of the review.
        draw: names what is drawn at random for this review: equal names give equal draws.
        block: index of the block, from 0.
        kept: what `once` has made for queries and keys at these places.
    """

    weights: Tensor
    queries: np.ndarray
    keys: np.ndarray
    seen: np.ndarray
    n_tokens: int
    draw: bytes
    block: int = 0
    kept: dict[str, Any] = field(default_factory=dict)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, made and uploaded once for all blocks: it must follow from `name` and the places alone."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def tensor(self, array: np.ndarray) -> Tensor:
        """`array` with the type and device of the weights."""
        return self.weights.new_tensor(array.astype(np.float64))

    @cached_property
    def distance(self) -> np.ndarray:
        """Tokens between query and key, (queries, keys) int64."""
        return abs(self.queries[:, None] - self.keys)

    @cached_property
    def sees_first(self) -> np.ndarray:
        """Whether a query sees the first token, (queries,) bool: those that a sliding window keeps from it do not."""
        return self.seen[:, 0] & (self.keys[0] == 0)

    def of_first(self, rows: Tensor) -> Tensor:
        """`rows` where the query sees the first token, and 0 elsewhere."""
        if self.sees_first.all():
            return rows
        return rows * self.once("sees first", lambda: self.tensor(self.sees_first)[:, None])

    def onto(self, place: np.ndarray | int) -> Tensor:
        """All mass on the key at `place` (of each query, or of all); a query that does not see it keeps its weights."""

        def hit() -> tuple[np.ndarray, Tensor]:
            found = (self.keys == np.broadcast_to(place, len(self.queries))[:, None]) & self.seen
            return found.any(axis=1), self.tensor(found)

        # an array is that of the queries, or of places drawn for a review
        return self.kept_unless(*self.once(f"onto {np.asarray(place).tobytes().hex()}", hit))

    def kept_unless(self, applies: np.ndarray, rows: Tensor) -> Tensor:
        """`rows` where the pattern applies to the query, (queries,) bool, and the query's own weights elsewhere."""
        if applies.all():
            return rows
        mask = self.once(f"applies {applies.tobytes().hex()}", lambda: self.tensor(applies)[:, None] > 0)
        return rows.where(mask, self.weights)

    def shares(self, scores: np.ndarray) -> Tensor:
        """Rows in proportion to `scores` (queries, keys), not negative, over the keys that the query sees."""
        scores = np.where(self.seen, scores, 0.0)
        return self.tensor(scores / scores.sum(axis=1, keepdims=True))

    def permuted(self, rows: Tensor, purpose: str) -> Tensor:
        """`rows` (heads, queries, keys) with the keys that each query sees in random order, the same for all heads."""
        name = seeded_hash(0, self.draw.hex(), purpose, self.block, int(self.queries[0]))
        random = np.random.default_rng(int.from_bytes(name)).random(self.seen.shape)
        # seen keys first, in random order and in their own order
        sources = np.argsort(np.where(self.seen, random, 2.0), axis=1)
        places = np.argsort(~self.seen, axis=1, kind="stable")
        order = np.empty_like(sources)
        np.put_along_axis(order, places, sources, axis=1)
        return rows.gather(-1, rows.new_tensor(order).long().expand(rows.shape))


PATTERNS: dict[str, Callable[[Sight], Tensor]] = {}  # P of a sight, by its name in the configuration and in tables
CONTROLS: list[str] = []  # names of those that do as much to attention as others, but not what these are about


def pattern(rows: Callable[[Sight], Tensor]) -> Callable[[Sight], Tensor]:
    """Register the decorated function under its name."""
    PATTERNS[rows.__name__] = rows
    return rows


def control(rows: Callable[[Sight], Tensor]) -> Callable[[Sight], Tensor]:
    """Register the decorated function, with which other patterns are compared."""
    CONTROLS.append(rows.__name__)
    return pattern(rows)


@pattern
def first(sight: Sight) -> Tensor:
    """All mass on the first token."""
    return sight.onto(0)


@pattern
def second(sight: Sight) -> Tensor:
    """All mass on the second token."""
    return sight.onto(1)


@pattern
def ends(sight: Sight) -> Tensor:
    """Half on the first token, half on the last one that the query sees: in a causal model, itself."""

    def both() -> Tensor:
        last = sight.keys[np.where(sight.seen, np.arange(len(sight.keys)), 0).max(axis=1)]
        return sight.tensor(((sight.keys == 0).astype(float) + (sight.keys == last[:, None])) / 2)

    return sight.kept_unless(sight.sees_first, sight.once("ends", both))


@pattern
def recency(sight: Sight) -> Tensor:
    """In proportion to 2^(-d / 4), d the distance of query and key."""
    return sight.once("recency", lambda: sight.shares(2.0 ** (-sight.distance / HALF_LIFE)))


@pattern
def self(sight: Sight) -> Tensor:
    """All mass on the query's own token."""
    return sight.onto(sight.queries)


@control
def uniform(sight: Sight) -> Tensor:
    """The same for all tokens that the query sees."""
    return sight.once("uniform", lambda: sight.shares(np.ones(sight.seen.shape)))


@control
def scattered(sight: Sight) -> Tensor:
    """All mass on one token of the review, drawn from its first quarter without the first token."""
    return sight.onto(scattered_place(sight.n_tokens, sight.draw))


@control
def permuted(sight: Sight) -> Tensor:
    """The query's own weights in random order over the tokens that it sees."""
    return sight.permuted(sight.weights, "weights")


@control
def removed(sight: Sight) -> Tensor:
    """No mass at all: rows of A' sum to 1 - λ."""
    return sight.weights.new_zeros(())


def quarter(n_tokens: int) -> int:
    """The first place after the first quarter of a review, at least 1."""
    return max(1, -(-n_tokens // 4))


def scattered_place(n_tokens: int, draw: bytes) -> int:
    """The token of `scattered`: from 1 to `quarter`, exclusive where there is a choice."""
    return drawn_place(1, max(2, quarter(n_tokens)), draw, "scattered")


def drawn_place(low: int, high: int, draw: bytes, purpose: str) -> int:
    """A whole number from `low` to `high`, exclusive, drawn for a review and a purpose."""
    return low + int.from_bytes(seeded_hash(0, draw.hex(), purpose)) % (high - low)
