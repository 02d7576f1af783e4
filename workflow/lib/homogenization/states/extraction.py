"""Extraction: a model reads reviews, and a store takes the residual stream of each layer and the attention received."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from homogenization.states.long_texts import Texts
from homogenization.states.model import LanguageModel
from homogenization.states.reading import Reading
from homogenization.states.writer import written_store


def extract(
    model: LanguageModel,
    review_ids: Sequence[str],
    texts: Sequence[str],
    path: str | Path,
    identity: Mapping[str, str],
    token_budget: int,
    dtype: str,
    chunk_tokens: int,
    record_attention: bool,
    layers: Sequence[int] | None = None,
    originals: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Run `model` over reviews and write the store at `path`, whole.

    Args:
        model: language model that reads.
        review_ids: names of the reviews.
        texts: their texts, in the same order.
        path: file of the store, `*.zarr.zip`.
        identity: `model`, `variant` and `shard`, for provenance and messages.
        token_budget: largest number of tokens in a forward pass over whole reviews; a longer review has a pass to
            itself. When memory runs out, the budget is halved for the rest of the job.
        dtype: dtype of the store: float32, float16, bfloat16, or auto for the model's own.
        chunk_tokens: largest number of tokens in a chunk of the store.
        record_attention: whether to record the attention that each token receives.
        layers: stored layers of the residual stream, 0 before the first block, l after block l, -1 after the last; None
            for all.
        originals: the original texts, in the same order, which decide where a long review is cut; None where the texts
            are the originals.

    Returns:
        The run record: `identity`, n_reviews and n_tokens (as read), n_cut and n_left_out (reviews that are cut or not
        read because they are too long), n_tokens_cut_off, max_tokens, seconds_total, seconds_forward, seconds_write
        (time for which the passes waited), tokens_per_second (over the total), token_budget (of the last pass),
        peak_memory_mb (of the process), peak_device_memory_mb (of the fullest CUDA device, or None), device, dtype of
        the model and weights_digest (one SHA-256 for all files of weights; None without files).

    Raises:
        HomogenizationError: the architecture can't be honoured, no original is short enough, the model lacks a layer of
            `layers`, states can't be stored, or the disk or the device is full.
    """
    stored_as = model.provenance["dtype"] if dtype == "auto" else dtype
    reading = Reading(
        model,
        Texts(review_ids, texts, originals),
        identity,
        token_budget,
        record_attention=record_attention,
        layers=layers,
    )
    writing_threads = 0 if model.packed.device.type == "cpu" else torch.get_num_threads()
    about = (path, reading.shape, reading.review_ids, reading.tokens, reading.attributes, stored_as)
    with written_store(*about, chunk_tokens, writing_threads) as writer:
        reading.stream([writer])
        if reading.received is not None:
            writer.write_attention(reading.received)
    return reading.record()
