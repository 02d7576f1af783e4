"""Singular values and geometry of a common number of tokens of every review, so that lengths can't pass for effects.

Ranks and entropies grow with the number of tokens alone, and a rewritten review has a few more or fewer than its
original. Here random subsets of one size stand for each review, and are measured like reviews. Every subset contains
the first token; the view decides whether it counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.measures.geometry import GEOMETRY_SCHEMA, Geometry
from homogenization.measures.reviews import OfReview, ReviewMeasure, measured_table
from homogenization.measures.spectra import SPECTRA_SCHEMA, Spectra
from homogenization.measures.views import TokenGram
from homogenization.names.columns import columns
from homogenization.states.stream import TokenStates


def drawn_positions(review_id: str, n_available: int, n_tokens: int, draw: int, seed: int) -> np.ndarray:
    """Positions of the tokens of one draw, (n_tokens,) int64, ascending; 0 is always among them.

    They depend on seed, review and draw alone: layers share them, and models with equally many tokens do.

    Args:
        review_id: name of the review.
        n_available: number of tokens of the review, at least `n_tokens`.
        n_tokens: number of tokens to draw, at least 1.
        draw: number of the draw.
        seed: seed of all draws.
    """
    digest = seeded_hash(seed, review_id, draw)
    others = np.random.default_rng(int.from_bytes(digest)).choice(n_available - 1, n_tokens - 1, replace=False)
    return np.concatenate([[0], np.sort(others) + 1])


class CommonLength(ReviewMeasure):
    """Singular values and geometry of `draws` subsets of `n_tokens` tokens of each review that has so many: two tables.

    Their columns are those of `SPECTRA_SCHEMA` and `GEOMETRY_SCHEMA`, with the number of the `draw` after `review_id`.
    """

    schemas = tuple(
        {**columns("model", "variant", "review_id"), "draw": pl.Int32} | schema
        for schema in (SPECTRA_SCHEMA, GEOMETRY_SCHEMA)
    )

    def __init__(self, states: TokenStates, n_tokens: int, draws: int, seed: int, views: Sequence[str]) -> None:
        self.states, self._parts = states, (Spectra(states, views), Geometry(states))
        self.subsets = {
            review_id: [drawn_positions(review_id, length, n_tokens, draw, seed) for draw in range(draws)]
            for review_id, length in zip(states.review_ids, np.diff(states.review_offsets).tolist(), strict=True)
            if length >= n_tokens
        }
        print(f"{len(self.subsets)} of {len(states.review_ids)} reviews have at least {n_tokens} tokens", flush=True)

    def of_review(self, place: Mapping[str, Any]) -> OfReview:
        """The rows of both measures for each subset of one review; None for a review that is too short."""
        subsets = []
        for draw, positions in enumerate(self.subsets.get(place["review_id"], ())):
            of_draw = {**place, "draw": draw, "n_tokens": len(positions)}
            subsets.append((positions, [part.of_review(of_draw) for part in self._parts]))
        return partial(_of_subsets, subsets)

    def tables(self, found: Iterable[list[tuple]]) -> tuple[pl.DataFrame, ...]:
        """The tables of both."""
        of_subsets = list(chain.from_iterable(found))
        of_parts = zip(*of_subsets, strict=True) if of_subsets else ([], [])
        return tuple(
            measured_table(chain.from_iterable(rows), self.states, schema)
            for rows, schema in zip(of_parts, self.schemas, strict=True)
        )


def _of_subsets(subsets: Sequence[tuple[np.ndarray, Sequence[OfReview]]], gram: TokenGram) -> list[tuple] | None:
    drawn = ((gram.subset(positions), parts) for positions, parts in subsets)
    return [tuple(part(subset) for part in parts) for subset, parts in drawn] or None
