"""Stores of made-up hidden states."""

import numpy as np
import torch

from homogenization.models.dtypes import torch_dtype
from homogenization.models.tokens import Tokens
from homogenization.names.points import FINAL_NORM, layer_name
from homogenization.states.store import write_store
from homogenization.states.stream import Contents, StoreShape

ATTRIBUTES = {"model": "tiny", "variant": "front", "shard": "002"}
N_BLOCKS = 2
LENGTHS = [6, 1, 14]


def tokens_of(lengths):
    n = sum(lengths)
    spans = np.stack([np.arange(n), np.arange(n) + 1], axis=1).astype(np.int32)
    return Tokens(np.arange(n, dtype=np.int64) % 7, spans, np.cumsum([0, *lengths]).astype(np.int64))


def contents_of(lengths, n_layers, width, dtype="float32", received=False, final_norm=False, windows=None):
    """Contents of a store of reviews of these lengths."""
    windows = (None,) * (n_layers - 1) if windows is None else windows
    shape = StoreShape(n_layers - 1, width, True, windows, final_norm, received, tuple(range(n_layers)))
    review_ids = [f"review{index}" for index in range(len(lengths))]
    return Contents(shape, review_ids, tokens_of(lengths), ATTRIBUTES, dtype)


def write(path, states, lengths, dtype="float32", received=None, final_norm=None, windows=None):
    """Write a store of `states` (layers, tokens, width)."""
    optional = {"received": received is not None, "final_norm": final_norm is not None}
    contents = contents_of(lengths, len(states), states.shape[2], dtype, windows=windows, **optional)
    arrays = {layer_name(layer): of_layer for layer, of_layer in enumerate(states)} | {FINAL_NORM: final_norm}
    kept = {point: torch.as_tensor(arrays[point]).to(torch_dtype(dtype)) for point in contents.points}
    bits = {point: (of.view(torch.uint16) if dtype == "bfloat16" else of).numpy() for point, of in kept.items()}
    write_store(path, contents, bits, received)
