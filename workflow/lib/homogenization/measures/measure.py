"""What is measured of the states of one model, variant and shard, in one pass through their store.

To add a table, add its schema and its rows here; a new metric of spectra, geometry or attention is a function in
`metrics`, and a column of these tables.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.attention import ATTENTION_SCHEMA, attention_rows
from homogenization.measures.reviews import measured_table, spans_of
from homogenization.measures.spectra import spectra_of
from homogenization.measures.views import TOKENS_OF
from homogenization.metrics.cosines import norms
from homogenization.metrics.geometry import GEOMETRY_METRICS, TokenMatrix
from homogenization.metrics.registry import WITHOUT_FIRST
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.states.store import PREDICTIONS, StateStore

Row = dict[str, Any]

#: A row for each review, point, layer and view. The views `raw` and `raw_without_first` always have rows.
MATRICES_SCHEMA = {
    **columns("model", "variant", "review_id", "point", "layer", "depth", "view", "n_tokens", "width"),
    "singular_values": pl.List(pl.Float64),  #: descending; null in a view that the study does not have
    #: the metrics of norms and directions, by their names; null in the views that they are not of
    **dict.fromkeys(GEOMETRY_METRICS, pl.Float64),
}
#: A row for each review. Losses are null for a model without a language-model head.
READ_TEXTS_SCHEMA = {
    **columns("model", "variant", "review_id", "n_tokens"),
    "n_words": pl.Int32,  #: words of the text
    "loss_per_word": pl.Float64,  #: -log p of the words' tokens given what stands before, in nats, per word
    "entropy": pl.Float64,  #: mean entropy of the predictions, in nats
    "divergence": pl.Float64,  #: Jensen-Shannon divergence of the predictions over positions, in nats
    "token_starts": pl.List(pl.Int32),  #: first character of each token
    "token_ends": pl.List(pl.Int32),  #: the character after its last; 0 for a token outside of the text
}
#: A row for each review and stored layer of the residual stream; lists are over the tokens, float16.
TOKENS_SCHEMA = {
    **columns("model", "variant", "review_id", "layer"),
    "cosine_to_mean": pl.List(pl.Float16),  #: cosine to the sum of all tokens scaled to length 1
    "norm": pl.List(pl.Float16),  #: ‖x‖ over the median of the review's tokens
    #: attention received in block `layer`, over what uniform attention would give; null for layer 0, and where it was
    #: not recorded
    "attention": pl.List(pl.Float16),
}


_LARGEST_NORM = 60_000.0  # of float16


def measure(store: StateStore, views: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The tables `matrices`, `attention`, `texts` and `tokens` of a store, of which one layer is in memory at a time.

    Args:
        store: the states.
        views: names of `measures.views.VIEWS` whose singular values are computed.
    """
    matrices: list[Row] = []
    tokens: list[Row] = []
    attention = store.attention()
    neighbours: dict[str, np.ndarray] = {}
    for point, layer, states in store.points():
        for review_id, span in spans_of(store):
            consecutive = point == RESIDUAL_STREAM and layer - 1 in store.layers
            before = neighbours.get(review_id) if consecutive else None
            matrix = TokenMatrix(states[span].astype(np.float64), before)
            neighbours[review_id] = matrix.neighbours
            n, width = matrix.rows.shape
            place = {"review_id": review_id, "point": point, "layer": layer, "n_tokens": n, "width": width}
            matrices += [place | row for row in matrix_rows(matrix, views)]
            if point == RESIDUAL_STREAM:
                over_uniform = None
                if attention is not None and layer > 0:
                    received, uniform, _ = attention
                    over_uniform = received[layer - 1, span] / uniform[layer - 1, span]
                tokens.append({"review_id": review_id, "layer": layer, **token_lists(matrix, over_uniform)})
        print(f"{point}, layer {layer}: {len(store.review_ids)} reviews", flush=True)
    rows = {
        "matrices": (matrices, MATRICES_SCHEMA),
        "attention": (attention_rows(store), ATTENTION_SCHEMA),
        "texts": (text_rows(store), READ_TEXTS_SCHEMA),
        "tokens": (tokens, TOKENS_SCHEMA),
    }
    return {name: measured_table(*made, store.attributes, store.n_blocks) for name, made in rows.items()}


def matrix_rows(tokens: TokenMatrix, views: Sequence[str]) -> Iterator[Row]:
    """View, singular values and metrics of each view of one review."""
    spectra = spectra_of(tokens, views)
    for view in dict.fromkeys((*TOKENS_OF, *views)):
        of_view, seen = TOKENS_OF.get(view), tokens.without_first if view.endswith(WITHOUT_FIRST) else tokens
        numbers = {
            name: metric.compute(seen) if of_view in metric.views else None for name, metric in GEOMETRY_METRICS.items()
        }
        yield {"view": view, "singular_values": spectra.get(view), **numbers}


def token_lists(tokens: TokenMatrix, over_uniform: np.ndarray | None) -> Row:
    """The lists of `TOKENS_SCHEMA` of one review at one layer; `over_uniform` is the attention of its tokens."""
    length, median = norms(tokens.resultant), np.median(tokens.norms)
    lists = {
        "cosine_to_mean": tokens.units @ tokens.resultant / (length or 1.0),
        "norm": np.minimum(tokens.norms / (median or 1.0), _LARGEST_NORM),
        "attention": over_uniform,
    }
    return {name: None if of_token is None else of_token.astype(np.float16) for name, of_token in lists.items()}


def text_rows(store: StateStore) -> Iterator[Row]:
    """The rows of `READ_TEXTS_SCHEMA`, without model and variant."""
    n_words, loss, entropy, divergence = map(store.read, ("n_words", *PREDICTIONS))
    found = {"loss_per_word": loss / np.maximum(n_words, 1), "entropy": entropy, "divergence": divergence}
    for number, (review_id, span) in enumerate(spans_of(store)):
        starts, ends = store.token_offsets[span].T
        yield {
            "review_id": review_id,
            "n_tokens": span.stop - span.start,
            "n_words": int(n_words[number]),
            **{name: None if np.isnan(of[number]) else float(of[number]) for name, of in found.items()},
            "token_starts": starts,
            "token_ends": ends,
        }
