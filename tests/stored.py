"""Stores of made-up hidden states."""

import numpy as np
import torch

from homogenization.models.tokens import Tokens
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.states.stream import Block, Contents, StoreShape
from homogenization.states.writer import written_store

ATTRIBUTES = {"model": "tiny", "variant": "front", "shard": "002"}
N_BLOCKS = 2
LENGTHS = [6, 1, 14]


def tokens_of(lengths):
    n = sum(lengths)
    spans = np.stack([np.arange(n), np.arange(n) + 1], axis=1).astype(np.int32)
    return Tokens(
        np.arange(n, dtype=np.int64) % 7, spans, np.cumsum([0, *lengths]).astype(np.int64), np.array(lengths) + 1
    )


def contents_of(shape, dtype="float32"):
    """Contents of a store of one review."""
    return Contents(shape, ["r"], tokens_of([21]), ATTRIBUTES, dtype)


def write(
    path,
    states,
    lengths,
    dtype="float32",
    chunk_tokens=8,
    pieces=(5, 3),
    received=None,
    final_norm=None,
    writing_threads=0,
    windows=None,
):
    """Write `states` (layers, tokens, width), handed over in pieces of unequal size."""
    layers = tuple(range(len(states)))
    windows = (None,) * (len(states) - 1) if windows is None else windows
    optional = final_norm is not None, received is not None
    shape = StoreShape(len(states) - 1, states.shape[2], True, windows, *optional, layers)
    review_ids = [f"review{index}" for index in range(len(lengths))]
    contents = Contents(shape, review_ids, tokens_of(lengths), ATTRIBUTES, dtype)
    with written_store(path, contents, chunk_tokens, writing_threads) as writer:
        start, turn = 0, 0
        while start < states.shape[1]:
            stop = start + pieces[turn % len(pieces)]
            for layer, of_layer in enumerate(states):
                writer.add(Block(RESIDUAL_STREAM, layer, start, torch.as_tensor(of_layer[start:stop])))
            if final_norm is not None:
                writer.add(Block(FINAL_NORM, 0, start, torch.as_tensor(final_norm[start:stop])))
            start, turn = stop, turn + 1
        if received is not None:
            writer.write_attention(received)
