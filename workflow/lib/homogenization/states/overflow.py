"""States that are not finite, or beyond what will be stored, are refused. It does not import Zarr."""

import math

import numpy as np
import torch

from homogenization.run.errors import HomogenizationError
from homogenization.states.stream import Contents

NOT_FINITE = (
    "states that are not finite. Run the model in bfloat16 or float32 (its 'dtype'), whose range is wider than "
    "float16's; if it does already, its weights are damaged."
)


def refuse_overflow(
    contents: Contents, point: str, start: int, states: torch.Tensor, largest: float = math.inf
) -> None:
    """Raise unless `states` or their extremes, (tokens, any), are finite and at most `largest`.

    Args:
        contents: names of reviews and their tokens.
        point: where the states are, for the message.
        start: the first token.
        states: on any device.
        largest: the largest number that will be stored.

    Raises:
        HomogenizationError: they are not; it names the review.
    """
    low, high = torch.stack(torch.aminmax(states)).tolist()
    if math.isfinite(low) and math.isfinite(high) and max(-low, high) <= largest:
        return
    outside = ~torch.isfinite(states) | (states.abs() > largest)
    token = start + int(outside.any(dim=1).nonzero()[0].item())
    review = int(np.searchsorted(contents.tokens.review_offsets, token, side="right")) - 1
    where = f"{contents.identity}, {point}, review {contents.review_ids[review]}"
    if not torch.isfinite(states).all():
        raise HomogenizationError(f"{where}: {NOT_FINITE}")
    raise HomogenizationError(
        f"{where}: a hidden state of {max(-low, high):,.0f} is beyond the {largest:,.0f} that {contents.dtype} can "
        "hold. Store the states as bfloat16 or float32 ('dtype' of 'states')."
    )
