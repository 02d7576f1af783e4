"""Stores of made-up hidden states."""

import numpy as np
import torch

from homogenization.models.tokens import Tokens
from homogenization.names.points import ATTENTION_RECEIVED, FINAL_NORM, layer_name
from homogenization.states.store import ATTENTION_FIRST, ATTENTION_UNIFORM, PREDICTIONS, write_store

ATTRIBUTES = {"model": "tiny", "variant": "front", "shard": "002"}
N_BLOCKS = 2
LENGTHS = [6, 1, 14]


def tokens_of(lengths):
    n = sum(lengths)
    spans = np.stack([np.arange(n), np.arange(n) + 1], axis=1).astype(np.int32)
    return Tokens(np.arange(n, dtype=np.int64) % 7, spans, np.cumsum([0, *lengths]).astype(np.int64))


def uniform_attention(n, window=None, causal=True):
    """(n,) attention that each token receives where a query attends equally to all keys that it sees."""
    distance = np.subtract.outer(np.arange(n), np.arange(n))
    seen = ((distance >= 0) | (not causal)) & (np.abs(distance) < (window or n))
    return (seen / seen.sum(axis=1, keepdims=True)).sum(axis=0)


def write(
    path, states, lengths, dtype="float32", received=None, final_norm=None, windows=None, first=None, predicted=None
):
    """Write a store of `states` (layers, tokens, width); `predicted` are arrays of the predictions by name."""
    n_blocks = len(states) - 1
    arrays = {layer_name(layer): of_layer for layer, of_layer in enumerate(states)}
    arrays |= {} if final_norm is None else {FINAL_NORM: final_norm}
    kept = {point: torch.as_tensor(of_point).to(getattr(torch, dtype)) for point, of_point in arrays.items()}
    kept = {point: (of.view(torch.uint16) if dtype == "bfloat16" else of).numpy() for point, of in kept.items()}
    if received is not None:
        uniform = [np.concatenate([uniform_attention(n, window) for n in lengths]) for window in windows]
        kept |= {ATTENTION_RECEIVED: received, ATTENTION_UNIFORM: np.stack(uniform), ATTENTION_FIRST: first}
    kept |= {"n_words": np.array(lengths)} | {name: np.full(len(lengths), np.nan) for name in PREDICTIONS}
    attributes = {
        "review_ids": [f"review{index}" for index in range(len(lengths))],
        "n_blocks": n_blocks,
        "width": states.shape[2],
        "layers": list(range(n_blocks + 1)),
        "storage_dtype": dtype,
        **ATTRIBUTES,
    }
    write_store(path, tokens_of(lengths), kept | (predicted or {}), attributes)
