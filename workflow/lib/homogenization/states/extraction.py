"""Extraction: a model reads reviews, and a store takes the residual stream of each layer and the attention received."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from homogenization.models.digests import combined_digest
from homogenization.models.tokens import Tokens
from homogenization.run.errors import HomogenizationError
from homogenization.run.usage import peak_device_memory_mb, peak_memory_mb
from homogenization.states.check import check_against_eager
from homogenization.states.long_texts import Windows, windows
from homogenization.states.model import LanguageModel
from homogenization.states.network import run_packed
from homogenization.states.packs import run_packs
from homogenization.states.writer import StoreShape, written_store
from homogenization.vocabulary.points import FINAL_NORM, layer_name


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
    writing_threads = 0 if model.packed.device.type == "cpu" else torch.get_num_threads()

    @contextmanager
    def opened(shape: StoreShape, read: Windows, attributes: Mapping[str, Any], stored_as: str) -> Iterator[list]:
        about = (path, shape, read.review_ids, read.tokens, attributes, stored_as)
        with written_store(*about, chunk_tokens, writing_threads) as writer:
            yield [writer]

    return read_reviews(
        model, review_ids, texts, identity, token_budget, dtype, record_attention, opened, layers, originals
    )


class Taker(Protocol):
    """Who takes the states of a walk over all reviews.

    Attributes:
        seconds: number of seconds for which passes waited for it.
    """

    seconds: float

    def append(self, point: str, start: int, states: torch.Tensor) -> None:
        """Take the states (tokens, width) of the tokens from number `start` on at `point`, which will be overwritten.

        They come in the order of the tokens. After a pass that was broken off, some come again and have to count once.
        """

    def write_attention(self, received: np.ndarray) -> None:
        """Take the attention received, float32 (blocks, tokens), of all tokens."""


# shape and dtype of a store, what is read, and its provenance -> a taker for each walk over the reviews
Opened = Callable[[StoreShape, Windows, Mapping[str, Any], str], AbstractContextManager[Sequence[Taker]]]


def read_reviews(
    model: LanguageModel,
    review_ids: Sequence[str],
    texts: Sequence[str],
    identity: Mapping[str, str],
    token_budget: int,
    dtype: str,
    record_attention: bool,
    opened: Opened,
    layers: Sequence[int] | None = None,
    originals: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Run `model` over reviews, once for each taker that `opened` gives. The other arguments are those of `extract`.

    Returns:
        The run record, as `extract` gives it.
    """
    started = time.perf_counter()
    stored_layers = chosen_layers(layers, model.packed.n_blocks, identity.get("model", model.packed.architecture))
    read = windows(model, review_ids, texts, originals)
    review_ids, tokens = read.review_ids, read.tokens
    findings = check_against_eager(model.packed, int(tokens.lengths.max(initial=0)), record_attention)
    shape = StoreShape(
        model.packed.n_blocks,
        model.packed.width,
        findings.causal,
        findings.attention_windows,
        findings.final_norm,
        record_attention,
        stored_layers,
    )
    stored_as = model.provenance["dtype"] if dtype == "auto" else dtype
    with opened(shape, read, {**model.provenance, **identity}, stored_as) as takers:
        running = time.perf_counter()
        for taker in takers:
            token_budget = _run_packs(model, tokens, token_budget, taker, shape)
        ran = time.perf_counter()
        seconds_waited = sum(taker.seconds for taker in takers)
    ended = time.perf_counter()
    digests = model.provenance.get("weights_sha256")
    return {
        **identity,
        "n_reviews": len(review_ids),
        "n_tokens": len(tokens.token_ids),
        "n_cut": read.n_cut,
        "n_left_out": read.n_left_out,
        "n_tokens_cut_off": read.n_tokens_cut_off,
        "max_tokens": model.max_tokens,
        "seconds_total": ended - started,
        "seconds_forward": ran - running - seconds_waited,
        "seconds_write": seconds_waited + ended - ran,
        "tokens_per_second": len(tokens.token_ids) / (ended - started),
        "token_budget": token_budget,
        "peak_memory_mb": peak_memory_mb(),
        "peak_device_memory_mb": peak_device_memory_mb(),
        "device": str(model.packed.device),
        "dtype": model.provenance["dtype"],
        "weights_digest": combined_digest(digests) if digests else None,
    }


def chosen_layers(layers: Sequence[int] | None, n_blocks: int, model: str) -> tuple[int, ...]:
    """The layers of the residual stream in `layers`, ascending; negative ones count from the last, None means all.

    Raises:
        HomogenizationError: the model has no such layer.
    """
    n_layers = n_blocks + 1
    for layer in layers or ():
        if not -n_layers <= layer < n_layers:
            raise HomogenizationError(
                f"states.layers: {layer} is no layer of the model {model}, which has {n_blocks} blocks. Allowed: 0 "
                f"(before the first block) to {n_blocks}, or -1 (after the last block) down to {-n_layers}."
            )
    return tuple(range(n_layers)) if layers is None else tuple(sorted({layer % n_layers for layer in layers}))


def _run_packs(model: LanguageModel, tokens: Tokens, token_budget: int, taker: Taker, shape: StoreShape) -> int:
    """Run forward passes over packs of whole reviews, and hand their states and attention to `taker`.

    Returns:
        The token budget of the last pass.
    """
    received = np.empty((shape.n_blocks, len(tokens.token_ids)), dtype=np.float32)

    def run_pack(pack: range) -> None:
        _run_pack(model, tokens, pack, taker, shape, received)

    token_budget = run_packs(model.packed.device, tokens.lengths.tolist(), token_budget, run_pack)
    if shape.attention_received:
        taker.write_attention(received)
    return token_budget


def _run_pack(
    model: LanguageModel, tokens: Tokens, pack: range, taker: Taker, shape: StoreShape, received: np.ndarray
) -> None:
    """Run one forward pass over the reviews of `pack`, and fill in their columns of `received`, (blocks, tokens)."""
    span = tokens.span(pack)

    def take(layer: int, states: torch.Tensor) -> None:
        if layer in shape.layers:
            taker.append(layer_name(layer), span.start, states)

    result = run_packed(
        model.packed,
        tokens.token_ids[span],
        tokens.lengths[pack.start : pack.stop].tolist(),
        shape.attention_received,
        take,
    )
    if shape.final_norm:
        taker.append(FINAL_NORM, span.start, result.last_hidden_state)
    if result.received is not None:
        received[:, span] = result.received.cpu()
