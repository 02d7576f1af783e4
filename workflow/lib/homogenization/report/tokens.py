"""What is said of each token of a few texts at every layer: its direction, its norm, the attention that it receives."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.attention import uniform_attention
from homogenization.measures.views import TokenGram
from homogenization.names.columns import columns
from homogenization.report.examples import MEASURES
from homogenization.states.stream import TokenStates

#: A row for each text of a review that is shown; a variant that has no text of it, or one that the model does not read,
#: has no row.
EXAMPLE_TEXTS_SCHEMA = {
    **columns("model", "variant", "review_id"),
    #: why the review is there: `least`, `median` or `greatest` difference, `named` in the configuration, or `first` of
    #: the sample
    "choice": pl.String,
    "difference": pl.Float64,  #: the difference by which it was chosen; null where it was not
    "n_tokens": pl.Int32,  #: tokens that the model reads
    #: the text of each token that is shown, with the blanks before it; of a token outside of the text, such as BOS, the
    #: name that it has in the vocabulary
    "tokens": pl.List(pl.String),
    "outside": pl.List(pl.Boolean),  #: whether it is outside of the text
    "in_phrase": pl.List(pl.Boolean),  #: whether it is part of a key phrase
}
#: A row for each of these texts and each layer of the residual stream; lists are over the tokens that are shown.
EXAMPLE_TOKENS_SCHEMA = {
    **columns("model", "variant", "review_id", "layer"),
    "norm": pl.List(pl.Float32),  #: ‖x‖
    #: cosine to the mean of the tokens scaled to length 1, which is over all tokens; its mean over all tokens is the
    #: resultant length
    "cosine_to_mean": pl.List(pl.Float32),
    "cosine_to_first": pl.List(pl.Float32),  #: cosine to the first token
    #: attention received in block `layer`, over what uniform attention would give; null for layer 0, and where it was
    #: not recorded
    "attention": pl.List(pl.Float32),
    #: cosines of pairs of the first `matrix_tokens` tokens: row by row, from the token itself on; null at layers that
    #: have no matrix
    "cosines": pl.List(pl.Float32),
}
SCHEMAS = (EXAMPLE_TEXTS_SCHEMA, EXAMPLE_TOKENS_SCHEMA)
PAGE_BYTES = 2_000_000  # of numbers, a byte each: as base64, with words and script, less than 3 MB


def rows_of_text(
    states: TokenStates, index: int, n_tokens: int, n_matrix: int, matrix_layers: Collection[int]
) -> Iterator[dict[str, Any]]:
    """The rows of one text, without model, variant and review, as `EXAMPLE_TOKENS_SCHEMA` describes them.

    Args:
        states: the states.
        index: number of the text among them.
        n_tokens: most tokens that are shown.
        n_matrix: most tokens in the matrix of cosines.
        matrix_layers: layers that have one.
    """
    span = slice(*states.review_offsets[index : index + 2].tolist())
    n, received = span.stop - span.start, states.attention_received()
    shown, square = slice(n_tokens), np.triu_indices(min(n, n_matrix))
    for layer in states.layers:
        gram = TokenGram(states.residual_stream(layer, span).astype(np.float64))
        length = gram.resultants[0]
        attention = None
        if received is not None and layer:
            window = states.attention_windows[layer - 1]
            attention = (received[layer - 1, span] / uniform_attention(n, states.causal, window))[shown]
        yield {
            "layer": layer,
            "norm": gram.norms[shown],
            "cosine_to_mean": (gram.cosines.sum(axis=1) / length if length else np.zeros(n))[shown],
            "cosine_to_first": gram.cosines[0][shown],
            "attention": attention,
            "cosines": gram.cosines[square] if layer in matrix_layers else None,
        }


def pieces(text: str, offsets: np.ndarray) -> list[str]:
    """The text of each token with the blanks before it: together, `text` up to the last of them.

    A token that covers no further character, such as one outside of the text, or the second of the bytes of a
    character, has an empty text.

    Args:
        text: the text.
        offsets: (tokens, 2) first and last character of each token; (0, 0) outside of the text.
    """
    ends = [0, *np.maximum.accumulate(offsets[:, 1]).tolist()]
    return [text[start:end] for start, end in pairwise(ends)]


def in_phrases(offsets: np.ndarray, spans: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each token, (tokens, 2) characters, shares a character with one of `spans`."""
    return [any(start < last and first < end for first, last in spans) for start, end in offsets.tolist()]


def sizes(
    n_texts: int, layers: Sequence[int], tokens: int, matrix_tokens: int, matrix_layers: int
) -> tuple[int, int, list[int]]:
    """How much of the texts is shown, so that the page stays small: tokens, tokens of a matrix, and layers with one.

    Layers are evenly spaced, the last among them.

    Args:
        n_texts: texts of the page, at least one.
        layers: layers that are read, ascending.
        tokens: most tokens of a text.
        matrix_tokens: most tokens in a matrix.
        matrix_layers: most layers with a matrix.
    """
    half = PAGE_BYTES // 2 // n_texts
    shown = min(tokens, half // (len(MEASURES) * len(layers)))
    n_matrix = min(matrix_tokens, shown)
    n_layers = min(matrix_layers, len(layers), max(1, half // (n_matrix * (n_matrix + 1) // 2)))
    places = np.linspace(len(layers) - 1, 0, n_layers).round().astype(int)
    return shown, n_matrix, sorted(layers[place] for place in places)
