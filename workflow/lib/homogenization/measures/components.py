"""A pass of reviews through a model that measures how alike tokens are at every point of every block."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.measures.alignment import NUMBERS, TOKEN_VIEWS, token_alignment
from homogenization.measures.batched_alignment import BatchedAlignment
from homogenization.measures.blocks import Layout, check_sums, find_layout, points_taken
from homogenization.measures.reviews import with_origin
from homogenization.models.tokens import Tokens
from homogenization.run.errors import HomogenizationError
from homogenization.states.model import LanguageModel
from homogenization.states.network import run_packed
from homogenization.states.reading import Reading
from homogenization.vocabulary.columns import columns

#: A row for each block, point, view and review of the shard, in this order. The metadata contain `layout` (the kind of
#: block), `components` (the points before and after each) and `states` (model, weights and shard, as in the stores).
COMPONENT_STATES_SCHEMA = {
    **columns("model", "variant", "review_id"),
    "layer": pl.Int32,  #: the block, from 1
    **columns("depth"),
    #: `resid_pre`, `ln1_out`, `attn_out`, `ln1_post_out`, `resid_mid`, `ln2_out`, `mlp_out`, `ln2_post_out`,
    #: `resid_post`, those that the block has
    "point": pl.String,
    **columns("n_tokens", "width"),
    "view": pl.String,  #: `all_tokens`, `without_first`, `centred` or `centred_without_first`
    #: `mean_norm`: of the view's tokens; `cosine_anisotropy`: mean cosine of token pairs, NaN for fewer than two
    #: tokens; `singular_anisotropy`: σ₁² / Σσ², NaN without a token that is not zero
    **dict.fromkeys(NUMBERS, pl.Float64),
}


def component_states(reading: Reading) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Let a model read, and measure the tokens at every point of every block.

    Args:
        reading: what the model reads.

    Returns:
        The table (`COMPONENT_STATES_SCHEMA`), by layer, point (in the order of the block), view and review; and its
        metadata: `layout`, `components` (the points before and after each), `states` (provenance).

    Raises:
        HomogenizationError: components that can't be told apart, states that are not finite, a review that does not fit
            into memory.
    """
    model, review_ids, tokens, identity = reading.model, reading.review_ids, reading.tokens, reading.identity
    layout = find_layout(model.packed)
    if len(review_ids):
        check_sums(model.packed, layout, tokens.token_ids[: tokens.review_offsets[1]])
    points = {point: index for index, point in enumerate(layout.points)}
    shape = (model.packed.n_blocks, len(points), len(TOKEN_VIEWS), len(NUMBERS), len(review_ids))
    numbers = np.full(shape, np.nan)

    def run_pack(pack: range, _token_ids: Sequence[int], _lengths: Sequence[int]) -> None:
        for keys, measured in _measure(model, layout, tokens, pack, review_ids, identity):
            for (layer, point), of_point in zip(keys, measured, strict=True):
                numbers[layer - 1, points[point], ..., pack.start : pack.stop] = of_point

    reading.packs(run_pack)
    table = _table(numbers, list(points), review_ids, tokens.lengths, model.packed.width)
    table = with_origin(table, identity, model.packed.n_blocks).select(*COMPONENT_STATES_SCHEMA)
    components = {name: list(before_and_after) for name, before_and_after in layout.components.items()}
    provenance = {**reading.provenance, "n_blocks": model.packed.n_blocks}
    return table, {"layout": layout.name, "components": components, "states": provenance}


def _measure(
    model: LanguageModel,
    layout: Layout,
    tokens: Tokens,
    pack: range,
    review_ids: Sequence[str],
    identity: Mapping[str, str],
) -> list[tuple[list[tuple[int, str]], np.ndarray]]:
    """`token_alignment` from one forward pass over the reviews of `pack`: layers and points, and their numbers.

    A GPU is read back at the end alone, once for flags and once for numbers; each GPU has its own blocks.
    """
    span = tokens.span(pack)
    lengths = tokens.lengths[pack.start : pack.stop].tolist()
    measured: list[tuple[list[tuple[int, str]], np.ndarray]] = []
    on_devices: dict[torch.device, tuple[BatchedAlignment, list[tuple[int, str]], list[torch.Tensor]]] = {}

    def take(layer: int, point: str, states: torch.Tensor) -> None:
        finite = torch.isfinite(states).all(dim=1)
        if not _is_gpu(states.device):
            refuse_overflow([(layer, point)], finite[None])
            measured.append(([(layer, point)], token_alignment(states, lengths).numpy()[None]))
            return
        if states.device not in on_devices:
            on_devices[states.device] = BatchedAlignment(lengths, states.device), [], []
        batches, keys, flags = on_devices[states.device]
        batches.add(states)
        keys.append((layer, point))
        flags.append(finite)

    def refuse_overflow(keys: Sequence[tuple[int, str]], finite: torch.Tensor) -> None:
        """Refuse points of which a token is not finite, by flags (points, tokens) in memory."""
        for (layer, point), of_tokens in zip(keys, finite, strict=True):
            if not of_tokens.all():
                token = span.start + int(of_tokens.int().argmin())
                review = review_ids[np.searchsorted(tokens.review_offsets, token, side="right") - 1]
                raise HomogenizationError(
                    f"{', '.join(f'{name} {value}' for name, value in identity.items())}, review {review}: {point} of "
                    f"block {layer} is not finite. float16 overflows at 65504: set 'dtype' of this model to bfloat16 "
                    "or float32."
                )

    with points_taken(model.packed, layout, take):
        run_packed(model.packed, tokens.token_ids[span], lengths, False, lambda _layer, _states: None)
    for batches, keys, flags in on_devices.values():
        refuse_overflow(keys, torch.stack(flags).cpu())
        measured.append((keys, batches.numbers().cpu().numpy()))
    return measured


def _is_gpu(device: torch.device) -> bool:
    """Whether a device has float64 and likes all reviews at once."""
    return device.type == "cuda"


def _table(
    numbers: np.ndarray, points: Sequence[str], review_ids: Sequence[str], lengths: np.ndarray, width: int
) -> pl.DataFrame:
    """The table of `numbers` (layers, points, views, numbers, reviews), without model, variant and depth."""
    n_layers, n_points, n_views, _, n_reviews = numbers.shape
    keys = np.indices((n_layers, n_points, n_views, n_reviews)).reshape(4, -1)
    layer, point, view, review = keys
    columns = {
        "review_id": np.asarray(review_ids, dtype=object)[review],
        "layer": layer + 1,
        "point": np.asarray(points, dtype=object)[point],
        "n_tokens": lengths[review],
        "width": np.full(len(review), width),
        "view": np.asarray(TOKEN_VIEWS, dtype=object)[view],
        **{name: numbers[:, :, :, index].ravel() for index, name in enumerate(NUMBERS)},
    }
    return pl.DataFrame(columns).cast({name: COMPONENT_STATES_SCHEMA[name] for name in columns})
