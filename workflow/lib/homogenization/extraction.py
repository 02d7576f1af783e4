"""Extraction: reviews through a model, the residual stream of every layer and attention received into a store."""

import logging
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from homogenization.eager_check import check_against_eager
from homogenization.errors import HomogenizationError
from homogenization.forward import run_packed
from homogenization.models import LanguageModel
from homogenization.packing import pack_reviews
from homogenization.store import FINAL_NORM, layer_name
from homogenization.store_writer import StateWriter, StoreShape, written_store
from homogenization.tokenization import Tokens, tokenize

logger = logging.getLogger(__name__)


def extract(
    model: LanguageModel,
    review_ids: Sequence[str],
    texts: Sequence[str],
    path: str | Path,
    identity: Mapping[str, str],
    token_budget: int,
    storage_dtype: str,
    chunk_tokens: int,
    record_attention: bool,
) -> dict[str, Any]:
    """Run `model` over reviews and write the store at `path`, whole.

    Args:
        model: the model.
        review_ids: one a review.
        texts: of the reviews.
        path: the store, `*.zarr.zip`.
        identity: `model`, `variant` and `shard`, for provenance and messages.
        token_budget: tokens of whole reviews a forward pass takes; a longer review passes alone.
        storage_dtype: float32, float16, bfloat16, or auto for the model's own.
        chunk_tokens: tokens a chunk of the store.
        record_attention: whether to record the attention that each token receives.

    Returns:
        The run record: `identity`, n_reviews, n_tokens, n_truncated, seconds_total, seconds_forward, seconds_write
        (for which the passes stood still), tokens_per_second (over the total), peak_memory_mb (the process's),
        peak_device_memory_mb (CUDA's, else None), device and dtype.

    Raises:
        HomogenizationError: an architecture that can't be honoured, states that can't be stored, a full disk or device.
    """
    started = time.perf_counter()
    tokens = tokenize(model.tokenizer, review_ids, texts, model.bos, model.max_tokens)
    n_truncated = _warn_of_truncation(tokens, model.max_tokens)
    findings = check_against_eager(model.packed, int(tokens.lengths.max()), record_attention)
    shape = StoreShape(
        model.packed.n_blocks, model.packed.width, findings.causal, findings.final_norm, record_attention
    )
    attributes = {**model.provenance, **identity}
    stored_as = model.provenance["dtype"] if storage_dtype == "auto" else storage_dtype
    in_background = model.packed.network.device.type != "cpu"
    with written_store(path, shape, review_ids, tokens, attributes, stored_as, chunk_tokens, in_background) as writer:
        running = time.perf_counter()
        _run_packs(model, tokens, token_budget, writer, shape)
        ran = time.perf_counter()
        seconds_waited = writer.seconds
    ended = time.perf_counter()
    return {
        **identity,
        "n_reviews": len(review_ids),
        "n_tokens": len(tokens.token_ids),
        "n_truncated": n_truncated,
        "seconds_total": ended - started,
        "seconds_forward": ran - running - seconds_waited,
        "seconds_write": seconds_waited + ended - ran,
        "tokens_per_second": len(tokens.token_ids) / (ended - started),
        "peak_memory_mb": _peak_memory_mb(),
        "peak_device_memory_mb": _peak_device_memory_mb(model.packed.network.device),
        "device": str(model.packed.network.device),
        "dtype": model.provenance["dtype"],
    }


def _run_packs(model: LanguageModel, tokens: Tokens, token_budget: int, writer: StateWriter, shape: StoreShape) -> None:
    """Forward passes over packs of whole reviews, their states and attention handed to `writer`."""
    received = np.empty((shape.n_blocks, len(tokens.token_ids)), dtype=np.float32)
    with tqdm(total=len(tokens.token_ids), unit=" tokens", unit_scale=True, mininterval=5) as progress:
        for pack in pack_reviews(tokens.lengths.tolist(), token_budget):
            start, stop = tokens.review_offsets[[pack.start, pack.stop]].tolist()
            try:
                result = run_packed(
                    model.packed,
                    tokens.token_ids[start:stop],
                    tokens.lengths[pack.start : pack.stop].tolist(),
                    shape.attention_received,
                    lambda layer, states: writer.append(layer_name(layer), states),
                )
            except torch.OutOfMemoryError as error:
                raise HomogenizationError(
                    f"token_budget: a pass of {stop - start} tokens does not fit into the memory of "
                    f"{model.packed.network.device}. Lower token_budget, or max_tokens if one review is that long."
                ) from error
            if shape.final_norm:
                writer.append(FINAL_NORM, result.last_hidden_state)
            if result.received is not None:
                received[:, start:stop] = result.received.cpu()
            progress.update(stop - start)
    if shape.attention_received:
        writer.write_attention(received)


def _warn_of_truncation(tokens: Tokens, max_tokens: int) -> int:
    """The number of truncated reviews, which a warning tells."""
    surplus = tokens.tokens_before_truncation - tokens.lengths
    n_truncated = int((surplus > 0).sum())
    if n_truncated:
        logger.warning(
            "%d of %d reviews are longer than %d tokens and were truncated; %d tokens were left out",
            n_truncated,
            len(surplus),
            max_tokens,
            surplus.sum(),
        )
    return n_truncated


def _peak_memory_mb() -> float:
    """Largest resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _peak_device_memory_mb(device: torch.device) -> float | None:
    """Largest memory allocated on a CUDA device so far, in MB; None elsewhere."""
    return torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else None
