"""Extraction: a model reads the reviews of a shard, and what its passes give is held in memory and stored once."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from homogenization.models.network import LanguageModel
from homogenization.models.tokens import Tokens
from homogenization.names.points import ATTENTION_RECEIVED, FINAL_NORM, layer_name
from homogenization.run.errors import HomogenizationError
from homogenization.run.log import progress
from homogenization.states.forward import Pass, forward, refuse_not_finite
from homogenization.states.predictions import predictions
from homogenization.states.store import ATTENTION_FIRST, ATTENTION_UNIFORM, PREDICTIONS, identity_of, write_store
from homogenization.states.texts import Texts, tokens_read


def extract(
    model: LanguageModel,
    texts: Texts,
    identity: Mapping[str, str],
    path: str | Path,
    *,
    layers: Sequence[int] | None = None,
    dtype: str = "auto",
) -> dict[str, Any]:
    """Let a model read reviews, and write the store of their states, whole.

    Args:
        model: model that reads.
        texts: reviews of one variant, with their originals.
        identity: `model`, `variant` and `shard`, for provenance and messages.
        path: file of the store, `*.zarr.zip`.
        layers: those to store (`chosen_layers`).
        dtype: that of the store: float32, float16, bfloat16, or auto for the model's own.

    Returns:
        The run record: `identity`, n_reviews and n_tokens (as read), n_left_out (reviews that are too long),
        max_tokens, seconds_total, device, dtype and weights of the model.

    Raises:
        HomogenizationError: the architecture can't be honoured, no original is short enough, the model lacks a layer of
            `layers`, or states are not finite.
    """
    began = time.perf_counter()
    layers = chosen_layers(layers, model.n_blocks, identity.get("model", model.architecture))
    review_ids, tokens = tokens_read(model, texts)
    words = dict(zip(texts.review_ids, (len(text.split()) for text in texts.texts), strict=True))
    stored = model.provenance["dtype"] if dtype == "auto" else dtype
    # what does not depend on the text, from a pass over a short one
    shape = forward(model, [0, 1, 2], head=False)
    # a norm follows the last block where it changes its states
    final_norm = [] if torch.equal(shape.states[-1].to(shape.last.device), shape.last) else [FINAL_NORM]
    arrays: dict[str, Any] = {
        point: torch.empty(len(tokens.token_ids), model.width, dtype=getattr(torch, stored))
        for point in [*map(layer_name, layers), *final_norm]
    }
    if shape.received is not None:
        of_tokens = (model.n_blocks, len(tokens.token_ids))
        arrays |= {ATTENTION_RECEIVED: np.empty(of_tokens, np.float32), ATTENTION_UNIFORM: np.empty(of_tokens)}
        arrays[ATTENTION_FIRST] = np.empty((len(review_ids), *shape.first.shape), dtype=np.float32)
    arrays |= {name: np.full(len(review_ids), np.nan) for name in PREDICTIONS}
    arrays["n_words"] = np.array([words[name] for name in review_ids], dtype=np.int64)
    with progress(len(tokens.token_ids), "tokens") as advance:
        for review, token_ids in enumerate(tokens.by_review):
            of_review = forward(model, token_ids)
            _keep(arrays, of_review, review, tokens, (identity_of(identity), review_ids[review]))
            advance(len(token_ids))
    attributes = {
        "review_ids": review_ids,
        "n_blocks": model.n_blocks,
        "width": model.width,
        "layers": list(layers),
        "storage_dtype": stored,
        **model.provenance,
        **identity,
    }
    write_store(path, tokens, {name: _numpy(array) for name, array in arrays.items()}, attributes)
    return {
        **identity,
        "n_reviews": len(review_ids),
        "n_tokens": len(tokens.token_ids),
        "n_left_out": len(texts.review_ids) - len(review_ids),
        "max_tokens": model.max_tokens,
        "seconds_total": time.perf_counter() - began,
        "device": str(model.device),
        "dtype": model.provenance["dtype"],
        "weights": model.provenance.get("weights"),
    }


def _keep(arrays: Mapping[str, Any], of_review: Pass, review: int, tokens: Tokens, names: tuple[str, str]) -> None:
    """Put what a pass over one review gives where it belongs; `names` are those of the shard and of the review."""
    span = tokens.span(review)
    points = {layer_name(layer): states for layer, states in enumerate(of_review.states)}
    for point, states in {**points, FINAL_NORM: of_review.last}.items():
        if point in arrays:
            arrays[point][span].copy_(states)
            refuse_not_finite(arrays[point][span], f"{names[0]}, {point}, review {names[1]}")
    if ATTENTION_RECEIVED in arrays:
        arrays[ATTENTION_RECEIVED][:, span] = of_review.received.cpu()
        arrays[ATTENTION_UNIFORM][:, span] = of_review.uniform.cpu()
        arrays[ATTENTION_FIRST][review] = of_review.first.cpu()
    if of_review.logits is not None:
        in_text = torch.from_numpy(tokens.token_offsets[span].any(axis=1))
        found = predictions(of_review.logits, tokens.by_review[review], in_text)
        for name, value in found._asdict().items():
            arrays[name][review] = value


def _numpy(array: Any) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array
    return (array.view(torch.uint16) if array.dtype == torch.bfloat16 else array).numpy()


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
