"""A pass of reviews through a model that measures how alike tokens are at every point of every block."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.measures.alignment import NUMBERS, TOKEN_VIEWS, token_alignment
from homogenization.measures.blocks import Layout, check_sums, find_layout, points_taken
from homogenization.measures.device_tokens import tokens_of
from homogenization.measures.reviews import with_origin
from homogenization.measures.views import TokenGram
from homogenization.measures.workers import Workers
from homogenization.models.tokens import Tokens
from homogenization.run.errors import HomogenizationError
from homogenization.states.check import check_against_eager
from homogenization.states.long_texts import windows
from homogenization.states.model import LanguageModel
from homogenization.states.network import run_packed
from homogenization.states.packs import run_packs
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


def component_states(
    model: LanguageModel,
    review_ids: Sequence[str],
    texts: Sequence[str],
    identity: Mapping[str, str],
    token_budget: int,
    originals: Sequence[str] | None = None,
    workers: Workers | None = None,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Run `model` over reviews and measure the tokens at every point of every block.

    Args:
        model: model to run, with its tokenizer.
        review_ids: names of the reviews.
        texts: texts of the reviews, in the same order.
        identity: `model`, `variant` and `shard`, for the table, provenance and messages.
        token_budget: most tokens of the whole reviews in a forward pass; a longer review passes alone. Where memory
            runs out, the budget halves for the rest of the run.
        originals: original texts, in the same order, which decide where a long review is cut; None where the texts are
            the originals.
        workers: who measures reviews; None: the caller.

    Returns:
        The table (`COMPONENT_STATES_SCHEMA`), by layer, point (in the order of the block), view and review; and its
        metadata: `layout`, `components` (the points before and after each), `states` (provenance).

    Raises:
        HomogenizationError: an architecture that can't be honoured or whose components can't be told apart, states that
            are not finite, a review that does not fit into memory.
    """
    layout = find_layout(model.packed)
    read = windows(model, review_ids, texts, originals)
    review_ids, tokens = read.review_ids, read.tokens
    check_against_eager(model.packed, int(tokens.lengths.max(initial=0)), record_attention=False)
    if len(review_ids):
        check_sums(model.packed, layout, tokens.token_ids[: tokens.review_offsets[1]])
    points = {point: index for index, point in enumerate(layout.points)}
    shape = (model.packed.n_blocks, len(points), len(TOKEN_VIEWS), len(NUMBERS), len(review_ids))
    numbers = np.full(shape, np.nan)

    def run_pack(pack: range) -> None:
        measured = _measure(model, layout, tokens, pack, review_ids, identity, workers or Workers(0))
        for layer, point, future in measured:
            numbers[layer - 1, points[point], ..., pack.start : pack.stop] = np.moveaxis(future.result(), 0, -1)

    run_packs(model.packed.device, tokens.lengths.tolist(), token_budget, run_pack)
    table = _table(numbers, list(points), review_ids, tokens.lengths, model.packed.width)
    table = with_origin(table, identity, model.packed.n_blocks).select(*COMPONENT_STATES_SCHEMA)
    components = {name: list(before_and_after) for name, before_and_after in layout.components.items()}
    provenance = {**model.provenance, **identity, "n_blocks": model.packed.n_blocks}
    return table, {"layout": layout.name, "components": components, "states": provenance}


def _measure(
    model: LanguageModel,
    layout: Layout,
    tokens: Tokens,
    pack: range,
    review_ids: Sequence[str],
    identity: Mapping[str, str],
    workers: Workers,
) -> list[tuple[int, str, Future]]:
    """`token_alignment` from one forward pass over the reviews of `pack`: layers and points, and what is to come.

    Of each of them, (reviews, views, numbers).
    """
    span = tokens.span(pack)
    lengths = tokens.lengths[pack.start : pack.stop].tolist()
    measured: list[tuple[int, str, Future]] = []

    def take(layer: int, point: str, states: torch.Tensor) -> None:
        finite = torch.isfinite(states).all(dim=1)
        if not finite.all():
            token = span.start + int(finite.int().argmin())
            review = review_ids[np.searchsorted(tokens.review_offsets, token, side="right") - 1]
            raise HomogenizationError(
                f"{', '.join(f'{name} {value}' for name, value in identity.items())}, review {review}: {point} of "
                f"block {layer} is not finite. float16 overflows at 65504: set 'dtype' of this model to bfloat16 "
                "or float32."
            )
        reviews = list(tokens_of(states.split(lengths), [()] * len(lengths)))
        measured.append((layer, point, workers.submit(_alignments, reviews)))

    with points_taken(model.packed, layout, take):
        run_packed(model.packed, tokens.token_ids[span], lengths, False, lambda _layer, _states: None)
    return measured


def _alignments(reviews: Sequence[TokenGram]) -> np.ndarray:
    """The numbers of reviews at one point; in a worker."""
    return np.stack([token_alignment(review) for review in reviews])


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
