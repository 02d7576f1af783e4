"""A pass of reviews through a model that measures how alike tokens are at every point of every block."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.measures.alignment import NUMBERS, TOKEN_VIEWS, token_alignment
from homogenization.measures.blocks import check_sums, find_layout, points_captured
from homogenization.measures.device_tokens import tokens_of
from homogenization.measures.reviews import Inline, OfReview, ReviewMeasure, Reviews, with_origin
from homogenization.measures.views import TokenGram
from homogenization.measures.workers import Workers
from homogenization.names.columns import columns
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import run_packed
from homogenization.states.reading import Reading
from homogenization.states.stream import Block

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


@dataclass(frozen=True)
class Components(ReviewMeasure):
    """How alike the tokens of every review are at every point of every block: the table `COMPONENT_STATES_SCHEMA`.

    Attributes:
        points: names of the points of a block, in its order.
    """

    schemas = (COMPONENT_STATES_SCHEMA,)
    states: Reading
    points: Sequence[str]

    def of_review(self, place: Mapping[str, Any]) -> OfReview:
        """Layer, point, review, and its numbers (views, numbers) there."""
        return partial(_alignment, (place["layer"], place["point"], place["review_id"]))

    def tables(self, found: Iterable[tuple[int, str, str, np.ndarray]]) -> tuple[pl.DataFrame]:
        """The table, by layer, point, view and review."""
        states, review_ids = self.states, self.states.review_ids
        shape = (states.n_blocks, len(self.points), len(TOKEN_VIEWS), len(NUMBERS), len(review_ids))
        numbers = np.full(shape, np.nan)
        of_point, of_review = ({name: at for at, name in enumerate(names)} for names in (self.points, review_ids))
        for layer, point, review_id, of_views in found:
            numbers[layer - 1, of_point[point], :, :, of_review[review_id]] = of_views
        table = _table(numbers, self.points, review_ids, states.tokens.lengths, states.shape.width)
        return (with_origin(table, states.attributes, states.n_blocks).select(*COMPONENT_STATES_SCHEMA),)


def _alignment(place: tuple[int, str, str], gram: TokenGram) -> tuple[int, str, str, np.ndarray]:
    return *place, token_alignment(gram)


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


def component_states(reading: Reading, workers: Workers | Inline | None = None) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Let a model read, and measure the tokens at every point of every block.

    Args:
        reading: what the model reads.
        workers: who measures reviews; None: the caller.

    Returns:
        The table (`COMPONENT_STATES_SCHEMA`), by layer, point (in the order of the block), view and review; and its
        metadata: `layout`, `components` (the points before and after each), `states` (provenance).

    Raises:
        HomogenizationError: components that can't be told apart, states that are not finite, a review that does not fit
            into memory.
    """
    packed, tokens = reading.model.packed, reading.tokens
    layout = find_layout(packed)
    if len(reading.review_ids):
        check_sums(packed, layout, tokens.token_ids[: tokens.review_offsets[1]])
    measure = Components(reading, list(layout.points))
    reviews = Reviews(reading, {"components": measure}, tokens_of, workers or Inline())

    def run_pack(pack: range, token_ids: Sequence[int], lengths: Sequence[int]) -> None:
        start = tokens.span(pack).start

        def take(layer: int, point: str, states: torch.Tensor) -> None:
            _refuse_overflow(reading, Block(point, layer, start, states))
            reviews.add(Block(point, layer, start, states))

        with points_captured(packed, layout, take):
            run_packed(packed, token_ids, lengths, False, lambda _layer, _states: None)

    reading.packs(run_pack)
    (table,) = reviews.tables("components")
    components = {name: list(before_and_after) for name, before_and_after in layout.components.items()}
    provenance = {**reading.attributes, "n_blocks": packed.n_blocks}
    return table, {"layout": layout.name, "components": components, "states": provenance}


def _refuse_overflow(reading: Reading, block: Block) -> None:
    finite = torch.isfinite(block.states).all(dim=1)
    if not finite.all():
        token = block.start + int(finite.int().argmin())
        review = reading.review_ids[np.searchsorted(reading.review_offsets, token, side="right") - 1]
        where = ", ".join(f"{name} {value}" for name, value in reading.identity.items())
        raise HomogenizationError(
            f"{where}, review {review}: {block.point} of block {block.layer} is not finite. float16 overflows at "
            "65504: set 'dtype' of this model to bfloat16 or float32."
        )
