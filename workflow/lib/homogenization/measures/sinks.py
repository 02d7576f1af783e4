"""Tokens that draw attention or are long: which, from which block to which, and whether they are massive.

Token j of a review of n tokens draws attention in a block where it receives c_j = sum_i A_ij (mean over heads) more
than ten times what it would receive under uniform attention, and more than ten times the mean of all tokens, which is
1. The second condition is for the last tokens of a causal model: few queries see them, so that their own attention
alone exceeds ten times uniform. A token is long where its norm is more than ten times the median norm of the review's
tokens, and massive where it stays so over the middle of the depth (`measures.massive`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.attention import uniform_attention
from homogenization.measures.massive import are_massive, norm_excess
from homogenization.measures.reviews import OfReview, ReviewMeasure
from homogenization.measures.views import TokenGram
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.states.stream import TokenStates

THRESHOLD = 10.0
ATTENTION, MASSIVE, LONG = "attention", "massive", "long"
#: A row for each secondary sink of each review; a review without any has one row with nulls from `kind` on.
SINKS_SCHEMA = {
    **columns("model", "variant", "review_id", "n_tokens"),
    #: `attention`; `massive`: long over the middle of the depth; `long`: after other blocks alone, or fewer of these
    "kind": pl.String,
    "position": pl.Int32,  #: in the review, 0 for the first token
    "token_start": pl.Int32,  #: first character of the token in the text
    "token_end": pl.Int32,  #: the character after its last; 0 for a token outside of the text
    **dict.fromkeys(("first_block", "last_block"), pl.Int32),  #: first and last block; of a long token, the layers
    "n_blocks": pl.Int32,  #: blocks in which it is one
    "peak": pl.Float64,  #: largest excess
}


def attention_excess(received: np.ndarray, causal: bool, windows: Sequence[int | None]) -> np.ndarray:
    """Attention received over the larger of uniform attention and 1: above `THRESHOLD` the token draws attention.

    Args:
        received: (blocks, n) c_j of one review.
        causal: whether the model's attention is causal.
        windows: of each block, as in a store (`attention_windows`).

    Returns:
        float64 (blocks, n).
    """
    n = received.shape[-1]
    uniform = np.array([uniform_attention(n, causal, window) for window in windows]).reshape(-1, n)
    return received / np.maximum(uniform, 1.0)


def sinks_of(excess: np.ndarray, blocks: np.ndarray) -> Iterator[dict[str, Any]]:
    """The tokens of one review whose excess is above `THRESHOLD` in some block, the first token among them.

    Args:
        excess: (blocks, n), from `attention_excess` or `norm_excess`.
        blocks: (blocks,) number of each block.

    Yields:
        position (from 0), first_block, last_block, n_blocks (in which it is above), peak (the largest excess).
    """
    above = excess > THRESHOLD
    for position in np.flatnonzero(above.any(axis=0)):
        there = blocks[above[:, position]]
        yield {
            "position": int(position),
            "first_block": int(there[0]),
            "last_block": int(there[-1]),
            "n_blocks": len(there),
            "peak": float(excess[above[:, position], position].max()),
        }


def secondary_sinks(
    excess: np.ndarray | None, lengths: np.ndarray, layers: np.ndarray, n_blocks: int
) -> Iterator[dict[str, Any]]:
    """The tokens of one review besides the first that draw attention or are long.

    Args:
        excess: (blocks, n) from `attention_excess`; None where attention was not recorded.
        lengths: (layers, n) norms of the residual stream.
        layers: (layers,) the layers, 0 before the first block, l after block l.
        n_blocks: blocks of the model.

    Yields:
        What `sinks_of` yields, with the `kind`, `attention`, `massive` or `long`; the block of a long token is the one
        before the layer, 0 for the embedding.
    """
    massive = are_massive(lengths, layers / n_blocks)
    found = [] if excess is None else [(ATTENTION, excess, np.arange(1, len(excess) + 1))]
    for kind, above, blocks in (*found, (LONG, norm_excess(lengths), layers)):
        for sink in sinks_of(above, blocks):
            if sink["position"] > 0:
                yield {"kind": MASSIVE if kind == LONG and massive[sink["position"]] else kind, **sink}


@dataclass(frozen=True)
class Sinks(ReviewMeasure):
    """Secondary sinks of every review: the table `SINKS_SCHEMA`."""

    schemas = (SINKS_SCHEMA,)
    states: TokenStates

    def of_review(self, place: Mapping[str, Any]) -> OfReview:
        """Review, layer and norms of the tokens of one review in one layer of the residual stream; else None."""
        return partial(_norms, place)

    def tables(self, found: Iterable[tuple[str, int, np.ndarray]]) -> tuple[pl.DataFrame]:
        """The table; a review without a secondary sink has one row of nulls."""
        states = self.states
        layers = np.array(states.layers)
        lengths = np.empty((len(layers), states.review_offsets[-1]))
        starts = dict(zip(states.review_ids, states.review_offsets[:-1].tolist(), strict=True))
        for review_id, layer, of_tokens in found:
            start = starts[review_id]
            lengths[np.searchsorted(layers, layer), start : start + len(of_tokens)] = of_tokens
        received = states.attention_received()
        rows = []
        for index, review_id in enumerate(states.review_ids):
            tokens = slice(*states.review_offsets[index : index + 2].tolist())
            about = {"review_id": review_id, "n_tokens": tokens.stop - tokens.start}
            excess = received
            if received is not None:
                excess = attention_excess(received[:, tokens], states.causal, states.attention_windows)
            sinks = list(secondary_sinks(excess, lengths[:, tokens], layers, states.n_blocks))
            spans = states.token_offsets[tokens]
            for sink in sinks:
                start, end = spans[sink["position"]].tolist()
                rows.append({**about, **sink, "token_start": start, "token_end": end})
            rows += [] if sinks else [about]
        names = {name: pl.lit(states.attributes[name], dtype=pl.String) for name in ("model", "variant")}
        schema = {name: dtype for name, dtype in SINKS_SCHEMA.items() if name not in names}
        return (pl.DataFrame(rows, schema=schema).with_columns(**names).select(*SINKS_SCHEMA),)


def _norms(place: Mapping[str, Any], gram: TokenGram) -> tuple[str, int, np.ndarray] | None:
    return (place["review_id"], place["layer"], gram.norms) if place["point"] == RESIDUAL_STREAM else None
