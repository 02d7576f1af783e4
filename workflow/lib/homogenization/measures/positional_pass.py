"""A pass of reviews through a model that sums the attention of each head by the places of query and key."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.measures.positional import (
    CAUSAL_CELLS,
    CELLS,
    DICTIONARY,
    HEAD_SUMS,
    POSITION_SUMS,
    QUERY_BINS,
    PositionalSums,
    choices,
    dictionary_templates,
    key_cells,
    query_bins,
    seen_keys,
)
from homogenization.states.attention import AttentionMap
from homogenization.states.network import run_packed
from homogenization.states.reading import Reading

_CHUNK = 128  # queries at a time


def positional_sums(reading: Reading, ranks: Mapping[str, int]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Let a model read, and sum its attention by cells.

    Args:
        reading: what the model reads, with attention recorded in its check.
        ranks: rank of each review in the sample, by name.

    Returns:
        The table (`POSITIONAL_SUMS_SCHEMA`), and its metadata: `n_reviews`, `states` (provenance).

    Raises:
        HomogenizationError: a review does not fit into memory.
    """
    sums, packed = PositionalSums(), reading.model.packed

    def run_pack(pack: range, token_ids: Sequence[int], lengths: Sequence[int]) -> None:
        of_pack = PositionalSums()  # of its own: a pass that runs out of memory leaves nothing behind
        pack_ranks = [ranks[reading.review_ids[review]] for review in pack]

        def through(attention: AttentionMap) -> torch.Tensor:
            add_attention(of_pack, attention, pack_ranks[attention.review])
            return attention.weights

        run_packed(packed, token_ids, lengths, False, lambda _layer, _states: None, through=through)
        sums.add(of_pack)

    reading.packs(run_pack)
    provenance = {**reading.attributes, "n_blocks": packed.n_blocks}
    return sums.table(reading.identity), {"n_reviews": len(reading.review_ids), "states": provenance}


def add_attention(sums: PositionalSums, attention: AttentionMap, rank: int) -> None:
    """Add the attention of some queries of one review to `sums`.

    Args:
        sums: sums to add to, in place.
        attention: weights of these queries in one block.
        rank: rank of the review in the sample; even and odd ranks are the two halves.
    """
    weights = attention.weights
    n_cells = len(CAUSAL_CELLS if attention.causal else CELLS)
    half, n_bins = rank % 2, QUERY_BINS * n_cells
    queries = np.arange(weights.shape[1]) + attention.first_query
    keys = np.arange(weights.shape[2]) + attention.first_key
    seen = choices(seen_keys(queries, keys, attention.causal, attention.window))
    index = np.where(seen, query_bins(queries)[:, None] * n_cells + key_cells(queries, keys), n_bins)
    permuted = _permuted(index, seen, (rank, attention.block, attention.first_query))
    of_chunk = _sums(weights, seen, index, permuted, n_bins)
    if attention.block not in sums.by_head:
        shape = (len(HEAD_SUMS), len(weights), 2, QUERY_BINS, n_cells)
        sums.by_head[attention.block] = np.zeros(shape)
        sums.by_position[attention.block] = np.zeros((len(POSITION_SUMS), 2, QUERY_BINS, n_cells))
    sums.by_head[attention.block][:, :, half] += of_chunk.reshape(*of_chunk.shape[:2], QUERY_BINS, n_cells)
    if attention.first_query == 0:
        of_review = expected_sums(attention.n_tokens, attention.causal, attention.window)
        sums.by_position[attention.block][:, half] += of_review


def _permuted(index: np.ndarray, seen: np.ndarray, seed: tuple[int, ...]) -> np.ndarray:
    """`index` (queries, keys) with the entries of the keys that a query sees in random order."""
    shuffled = np.where(seen, np.random.default_rng(seed).random(seen.shape), 2).argsort(axis=1)
    in_order = np.argsort(~seen, axis=1, kind="stable")
    result = index.copy()
    np.put_along_axis(result, shuffled, np.take_along_axis(index, in_order, axis=1), axis=1)
    return result


def _sums(weights: torch.Tensor, seen: np.ndarray, index: np.ndarray, permuted: np.ndarray, n_bins: int) -> np.ndarray:
    """Sums (sums of `HEAD_SUMS`, heads, n_bins) of weights (heads, queries, keys); the index `n_bins` is left out."""
    device = weights.device
    wide = weights.to(torch.float32 if device.type == "mps" else torch.float64)
    visible = torch.from_numpy(seen).to(device)
    n_seen = visible.sum(dim=1, keepdim=True).clamp_min(1)
    logs = weights.clamp_min(torch.finfo(torch.float32).tiny).to(wide.dtype).log_()  # finite where a weight underflows
    logs -= logs.mul(visible).sum(dim=-1, keepdim=True).div_(n_seen)
    above = (wide - 1 / n_seen).clamp_min_(0)
    sums = wide.new_zeros(len(HEAD_SUMS), len(weights), n_bins + 1)
    for row, values in enumerate((wide, wide, above, logs, logs.square())):
        cells = torch.from_numpy(permuted if HEAD_SUMS[row] == "permuted" else index).to(device)
        sums[row].index_add_(1, cells.flatten(), values.flatten(1))
    return sums[..., :-1].cpu().double().numpy()


@lru_cache(maxsize=512)
def expected_sums(n_tokens: int, causal: bool, window: int | None) -> np.ndarray:
    """Sums over the queries of one review that depend on positions alone, float64 (1 + templates, QUERY_BINS, cells).

    First the number of pairs of query and key, then the mass that each template of `DICTIONARY` gives to the cell. The
    mass of `uniform`, summed over cells, is the number of queries.
    """
    n_cells = len(CAUSAL_CELLS if causal else CELLS)
    sums = np.zeros((1 + len(DICTIONARY), QUERY_BINS * n_cells))
    keys = np.arange(n_tokens)
    for start in range(0, n_tokens, _CHUNK):
        queries = np.arange(start, min(start + _CHUNK, n_tokens))
        seen = choices(seen_keys(queries, keys, causal, window))
        index = (query_bins(queries)[:, None] * n_cells + key_cells(queries, keys))[seen]
        values = np.stack([seen, *dictionary_templates(queries, keys, seen)])[:, seen]
        for row, value in zip(sums, values, strict=True):
            row += np.bincount(index, value, minlength=len(row))
    return sums.reshape(-1, QUERY_BINS, n_cells)
