"""How alike the tokens of a review are at every point of every block, by one more pass through the model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.layouts import check_sums, find_layout
from homogenization.measures.reviews import measured_table
from homogenization.measures.spectra import first_shares
from homogenization.measures.views import ROWS_OF, view_rows
from homogenization.metrics.geometry import TokenMatrix, cosine_anisotropy, intrinsic_dimension, neighbourhood_overlap
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.models.network import LanguageModel
from homogenization.names.columns import columns
from homogenization.states.forward import forward, refuse_not_finite
from homogenization.states.store import identity_of
from homogenization.states.texts import Texts, tokens_read

NUMBERS = ("mean_norm", "cosine_anisotropy", "singular_anisotropy")
NUMBERS_OF_DISTANCES = ("intrinsic_dimension", "neighbourhood_overlap")
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
    #: tokens; `singular_anisotropy`: σ₁² / Σσ², NaN without a token that is not zero; null in the centred views, where
    #: distances are the same: `intrinsic_dimension`, and `neighbourhood_overlap`, the share of neighbours kept from the
    #: point where the component that ends here begins (null at `resid_pre`)
    **dict.fromkeys((*NUMBERS, *NUMBERS_OF_DISTANCES), pl.Float64),
}


def token_alignment(every: TokenMatrix) -> dict[str, dict[str, float | None]]:
    """The numbers of the tokens of one review, by view and name; NaN where a view lacks what a number needs."""
    centred = (TokenMatrix(view_rows("centred", rows)) for rows in (every.rows, every.rows[1:]))
    shares = first_shares(every, [ROWS_OF.get(view, view) for view in TOKEN_VIEWS])
    return {
        view: {
            "mean_norm": float(seen.norms.mean()) if len(seen.rows) else np.nan,
            "cosine_anisotropy": cosine_anisotropy(seen),
            "singular_anisotropy": share,
            "intrinsic_dimension": intrinsic_dimension(seen) if view in ROWS_OF else None,
            "neighbourhood_overlap": neighbourhood_overlap(seen),
        }
        for view, seen, share in zip(TOKEN_VIEWS, (every, every.without_first, *centred), shares.values(), strict=True)
    }


def measure(
    model: LanguageModel, texts: Texts, identity: Mapping[str, str]
) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Let a model read reviews, and measure the tokens at every point of every block.

    Returns:
        The table `components` (`COMPONENT_STATES_SCHEMA`), by layer, point (in the order of the block), view and
        review; and its metadata.

    Raises:
        HomogenizationError: components that can't be told apart, states that are not finite.
    """
    layout, rows = find_layout(model), []
    begins = {after: before for before, after in layout.components.values()}
    review_ids, tokens = tokens_read(model, texts)
    for number, token_ids in enumerate(tokens.by_review):
        points = forward(model, token_ids, taps=layout.points, head=False).taps
        if number == 0:
            check_sums(model, layout, points)
        neighbours: dict[tuple[int, str | None], np.ndarray] = {}
        for (block, point), states in points.items():
            where = f"{identity_of(identity)}, {point} of block {block + 1}, review {review_ids[number]}"
            refuse_not_finite(states, where)
            place = {"review_id": review_ids[number], "layer": block + 1, "point": point}
            place |= dict(zip(("n_tokens", "width"), states.shape, strict=True))
            every = TokenMatrix(states.double().cpu().numpy(), neighbours.get((block, begins.get(point))))
            neighbours[block, point] = every.neighbours
            rows += [{**place, "view": view, **numbers} for view, numbers in token_alignment(every).items()]
        print(f"review {review_ids[number]}: {len(token_ids)} tokens", flush=True)
    table = measured_table(rows, COMPONENT_STATES_SCHEMA, identity, model.n_blocks)
    in_order = {"point": list(layout.points), "view": TOKEN_VIEWS, "review_id": review_ids}
    table = table.sort("layer", *(pl.col(name).cast(pl.Enum(values)) for name, values in in_order.items()))
    components = {name: list(before_and_after) for name, before_and_after in layout.components.items()}
    provenance = {**model.provenance, **identity, "n_blocks": model.n_blocks}
    return {"components": table}, {"layout": layout.name, "components": components, "states": provenance}
