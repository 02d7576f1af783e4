"""Singular values and geometry of a common number of tokens of every review, so that lengths can't pass for effects.

Ranks and entropies grow with the number of tokens alone, and a rewritten review has a few more or fewer than its
original. Here random subsets of one size stand for each review, and are measured like reviews. Every subset contains
the first token; the view decides whether it counts.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.measures import geometry, spectra
from homogenization.measures.geometry import IdentifiedStates
from homogenization.vocabulary.points import ALL_TOKENS

_SEPARATOR = "/"  # between a review and the number of its draw; names of reviews are hexadecimal digits
_DRAW = {"review_id": pl.String, "draw": pl.Int32}
SCHEMAS = tuple(
    {"model": pl.String, "variant": pl.String} | _DRAW | schema
    for schema in (spectra.SPECTRA_SCHEMA, geometry.GEOMETRY_SCHEMA)
)


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


class DrawnTokens:
    """Random subsets of the reviews of a store: `TokenStates` in which each subset is a review.

    Attributes:
        review_ids: `REVIEW/DRAW` for each draw of each review that is long enough.
        review_offsets: int64 (subsets + 1,).
        token_ids: int64 (subsets x tokens,).
        attributes, layers, n_blocks: same as those of the store.
    """

    def __init__(self, store: IdentifiedStates, n_tokens: int, draws: int, seed: int) -> None:
        """Draw `draws` subsets of `n_tokens` tokens of each review that has at least so many."""
        self._store, self.attributes, self.layers, self.n_blocks = store, store.attributes, store.layers, store.n_blocks
        self.review_ids: list[str] = []
        rows = [np.empty(0, dtype=np.int64)]
        for review_id, start, length in zip(
            store.review_ids, store.review_offsets[:-1], np.diff(store.review_offsets).tolist(), strict=True
        ):
            for draw in range(draws if length >= n_tokens else 0):
                self.review_ids.append(f"{review_id}{_SEPARATOR}{draw}")
                rows.append(start + drawn_positions(review_id, length, n_tokens, draw, seed))
        self._rows = np.concatenate(rows)
        self.token_ids = store.token_ids[self._rows]
        self.review_offsets = np.arange(len(rows), dtype=np.int64) * n_tokens

    def residual_stream(self, layer: int, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray:
        """The residual stream of the drawn tokens, (subsets x tokens, width) float32, at `layer`."""
        return self._store.residual_stream(layer, self._rows[tokens])

    def final_norm(self, tokens: slice | np.ndarray = ALL_TOKENS) -> np.ndarray | None:
        """The states of the drawn tokens after the final norm; None where the architecture has no such norm."""
        return self._store.final_norm(self._rows[tokens])


def measure(
    store: IdentifiedStates, n_tokens: int, draws: int, seed: int, views: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `spectra` and `geometry` of `draws` subsets of `n_tokens` tokens of each long enough review.

    Their columns are those of `SPECTRA_SCHEMA` and `GEOMETRY_SCHEMA`, with the number of the `draw` after `review_id`.

    Raises:
        HomogenizationError: states that are not finite.
    """
    drawn = DrawnTokens(store, n_tokens, draws, seed)
    n_long_enough = len(drawn.review_ids) // draws
    print(f"{n_long_enough} of {len(store.review_ids)} reviews have at least {n_tokens} tokens", flush=True)
    return _with_draws(spectra.measure(drawn, views)), _with_draws(geometry.measure(drawn))


def _with_draws(table: pl.DataFrame) -> pl.DataFrame:
    """`table` with reviews and draws in columns of their own."""
    names = pl.col("review_id").str.split(_SEPARATOR).list
    after = table.columns.index("review_id") + 1
    draw = names.last().cast(pl.Int32).alias("draw")
    return table.select(*table.columns[:after], draw, *table.columns[after:]).with_columns(review_id=names.first())
