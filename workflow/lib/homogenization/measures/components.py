"""A pass of reviews through a model that measures how alike tokens are at every point of every block."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.measures.blocks import check_sums, find_layout, points_captured
from homogenization.measures.reviews import measured_table
from homogenization.measures.tridiagonal import tridiagonal_forms
from homogenization.measures.views import TokenGram, look_of
from homogenization.metrics.cosines import inverse, mean_of_pairs
from homogenization.metrics.gram import Tridiagonal
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.names.columns import columns
from homogenization.states.network import forward, refuse_not_finite
from homogenization.states.reading import Reading
from homogenization.states.stream import place_of

NUMBERS = ("mean_norm", "cosine_anisotropy", "singular_anisotropy")
TOKEN_VIEWS = (ALL_TOKENS, WITHOUT_FIRST, "centred", "centred_without_first")
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


def token_alignment(gram: TokenGram) -> np.ndarray:
    """Mean norm, cosine anisotropy and singular anisotropy of the tokens of one review.

    Cosine anisotropy is the mean of u_i . u_j over i != j, u_i = x_i / |x_i| (Godey et al. 2024); a zero token has no
    direction and counts as u = 0. Singular anisotropy is the largest squared singular value over the sum of all. In the
    views `centred` and `centred_without_first`, the mean of the view's tokens is subtracted from each first.

    Returns:
        float64 (views, numbers), in the order of `TOKEN_VIEWS` and `NUMBERS`. NaN where a view lacks the token or pair
        that a number needs.
    """
    products = gram.raw, gram.raw[1:, 1:], gram.centred, gram.shifted[1:, 1:]
    forms = [form for look in ("raw", "centred") for form in tridiagonal_forms(look_of(look)[0], gram)]
    return np.array([_alignment(*of_view) for of_view in zip(products, forms, strict=True)])


def _alignment(products: np.ndarray, form: Tridiagonal) -> tuple[float, float, float]:
    """The numbers of one view, from the inner products (n, n) of its tokens and a form with their eigenvalues."""
    squares, n = products.diagonal().clip(min=0), len(products)
    lengths, energy = np.sqrt(squares), squares.sum()
    scale = inverse(lengths)
    return (
        lengths.mean() if n else np.nan,
        mean_of_pairs(scale @ products @ scale, np.count_nonzero(lengths), n if n > 1 else np.nan),
        min(form.largest() / energy, 1.0) if energy else np.nan,
    )


def component_states(reading: Reading) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Let a model read, and measure the tokens at every point of every block.

    Args:
        reading: what the model reads.

    Returns:
        The table (`COMPONENT_STATES_SCHEMA`), by layer, point (in the order of the block), view and review; and its
        metadata: `layout`, `components` (the points before and after each), `states` (provenance).

    Raises:
        HomogenizationError: components that can't be told apart, states that are not finite.
    """
    transformer, tokens = reading.model.transformer, reading.tokens
    layout = find_layout(transformer)
    if len(reading.review_ids):
        check_sums(transformer, layout, tokens.token_ids[: tokens.review_offsets[1]])
    rows: list[dict[str, Any]] = []

    def run_pass(review: int, token_ids: Sequence[int]) -> None:
        name = reading.review_ids[review]

        def take(layer: int, point: str, states: torch.Tensor) -> None:
            refuse_not_finite(states, f"{reading.contents.identity}, {point} of block {layer}, review {name}")
            place = place_of(name, point, layer, states)
            numbers = token_alignment(TokenGram(states.double().cpu().numpy())).tolist()
            for view, of_view in zip(TOKEN_VIEWS, numbers, strict=True):
                rows.append({**place, "view": view, **dict(zip(NUMBERS, of_view, strict=True))})

        with points_captured(transformer, layout, take):
            forward(transformer, token_ids)

    reading.each_review(run_pass)
    table = measured_table(rows, reading, COMPONENT_STATES_SCHEMA)
    in_order = {"point": list(layout.points), "view": TOKEN_VIEWS, "review_id": reading.review_ids}
    table = table.sort("layer", *(pl.col(name).cast(pl.Enum(values)) for name, values in in_order.items()))
    components = {name: list(before_and_after) for name, before_and_after in layout.components.items()}
    provenance = {**reading.attributes, "n_blocks": transformer.n_blocks}
    return table, {"layout": layout.name, "components": components, "states": provenance}
