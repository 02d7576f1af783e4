"""Walking through a store: every review's token matrix at every point and layer that was read."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from homogenization.run.errors import HomogenizationError

if TYPE_CHECKING:
    from homogenization.states.store import StateStore

RESIDUAL_STREAM = "residual_stream"
FINAL_NORM = "final_norm"


def iterate_states(store: "StateStore") -> Iterator[tuple[str, int, np.ndarray]]:
    """Yield (point, layer, states) with states (tokens, width) float32 of all reviews, one layer in memory at a time.

    Layer 0 is the residual stream after the embedding, layer l after block l; those that are stored are yielded. The
    state after the final norm, where it was stored, comes last, with the number of blocks as its layer.
    """
    for layer in store.layers:
        yield RESIDUAL_STREAM, layer, store.residual_stream(layer)
    final_norm = store.final_norm()
    if final_norm is not None:
        yield FINAL_NORM, store.n_blocks, final_norm


def iterate_reviews(
    store: "StateStore", point: str, layer: int, states: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (review_id, tokens) with tokens (n, width), the review's part of `states`.

    Raises:
        HomogenizationError: a value is not finite.
    """
    offsets = store.review_offsets
    for index, review_id in enumerate(store.review_ids):
        tokens = states[offsets[index] : offsets[index + 1]]
        if not np.isfinite(tokens).all():
            raise HomogenizationError(
                f"review {review_id}: the states at {point}, layer {layer}, are not all finite. float16 overflows at "
                f"65504: set 'dtype' of this model and of 'states' to bfloat16 or float32; its states are then "
                f"extracted again."
            )
        yield review_id, tokens


def provenance(store: "StateStore") -> dict[str, Any]:
    """What made the states: the store's attributes without the list of reviews, for the metadata of other tables."""
    return {name: value for name, value in store.attributes.items() if name != "review_ids"}
