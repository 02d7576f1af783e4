"""How alike tokens are, as functions that have gradients: the metrics of the study, without the first token.

States are those of the residual stream before the final norm, (reviews, tokens, width), padded at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor

from homogenization.metrics.differentiable import cosine_anisotropy, normalized_effective_rank
from homogenization.models.blocks import batch_stream_captured
from homogenization.run.errors import HomogenizationError

_LEAST_TOKENS = 3  # with the first
STEEPEST = "steepest"

Metric = Callable[[Tensor], Tensor]


def centred_effective_rank(tokens: Tensor) -> Tensor:
    """Effective rank of tokens (n, width), n > 1, minus their mean, over min(n - 1, width)."""
    return normalized_effective_rank(tokens - tokens.mean(dim=0), centred=True)


METRICS: dict[str, tuple[Metric, int]] = {  # and the sign of its change when tokens grow alike
    "cosine": (cosine_anisotropy, 1),
    "centred_effective_rank": (centred_effective_rank, -1),
}


def metric_of_batch(metric: Metric, states: Tensor, lengths: Sequence[int]) -> Tensor:
    """Mean of `metric` over reviews with at least three tokens, in float64, the first token and padding left out."""
    values = [
        metric(of_review[1:length].double())
        for of_review, length in zip(states, lengths, strict=True)
        if length >= _LEAST_TOKENS
    ]
    return torch.stack(values).mean()


@contextmanager
def states_captured(blocks: torch.nn.ModuleList, layers: Sequence[int]) -> Iterator[dict[int, Tensor]]:
    """Yield a dictionary that a pass fills with the residual stream at `layers`; 0 is before the first block."""
    states: dict[int, Tensor] = {}

    def take(layer: int, of_layer: Tensor) -> None:
        if layer in layers:
            states[layer] = of_layer

    with batch_stream_captured(blocks, take):
        yield states


def steepest_layers(cosines: Sequence[float]) -> list[int]:
    """The layers around the largest growth of a metric that grow at least half as much, without a gap.

    Args:
        cosines: the metric at the layers from 0 on.

    Raises:
        HomogenizationError: the metric grows nowhere.
    """
    growth = [after - before for before, after in pairwise(cosines)]
    top = max(range(len(growth)), key=growth.__getitem__)
    if growth[top] <= 0:
        raise HomogenizationError(
            "penalty.layers: 'steepest' has no meaning here: before training, the mean cosine grows after no block of "
            f"this model. Name layers from 1 to {len(growth)}."
        )
    first = last = top
    while first > 0 and growth[first - 1] >= growth[top] / 2:
        first -= 1
    while last + 1 < len(growth) and growth[last + 1] >= growth[top] / 2:
        last += 1
    return list(range(first + 1, last + 2))
