"""How alike tokens are, as functions that have gradients: the metrics of the study, without the first token.

States are those of the residual stream before the final norm, (reviews, tokens, width), padded at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from homogenization.metrics.differentiable import cosine_anisotropy, normalized_effective_rank
from homogenization.models.blocks import batch_stream_captured

_LEAST_TOKENS = 3  # with the first

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
