"""How well a model predicts the tokens of a text, and how alike its predictions are: from the logits of one pass."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

_AT_ONCE = 16  # positions that are evaluated together: with a large vocabulary, more leave the cache of a CPU


class Predictions(NamedTuple):
    """How well and how alike a model predicts the tokens of one text, in nats.

    Attributes:
        loss: -log p(x_i | x_1 … x_i-1), summed over the tokens that are read.
        entropy: mean entropy of the predictions of these tokens.
        divergence: their Jensen-Shannon divergence over positions: entropy of the mean prediction - mean entropy.
    """

    loss: float
    entropy: float
    divergence: float


@torch.inference_mode()
def predictions(logits: Tensor, token_ids: Sequence[int], read: Tensor) -> Predictions:
    """Evaluate the predictions of one text, some positions at a time.

    Args:
        logits: (n, vocabulary) of the next token.
        token_ids: (n,) tokens of the text.
        read: (n,) bool: the tokens that count; the first is never predicted. NaN where there are none.
    """
    ids = torch.as_tensor(token_ids, device=logits.device)
    places = torch.nonzero(torch.as_tensor(read)[1:])[:, 0].to(logits.device)
    loss = entropy = torch.zeros((), dtype=torch.float64, device=logits.device)
    mean = torch.zeros(logits.shape[1], dtype=torch.float64, device=logits.device)
    for at_once in places.split(_AT_ONCE):
        scores = logits[at_once].float()
        scores -= scores.amax(-1, keepdim=True)
        p = scores.exp()
        total = p.sum(-1)
        logarithm = total.double().log()  # log p = scores - logarithm
        loss = loss + (logarithm - scores.gather(1, ids[at_once + 1, None])[:, 0]).sum()
        mean += (1 / total) @ p
        entropy = entropy + (logarithm - p.mul_(scores).sum(-1) / total).sum()
    n = len(places)
    if n == 0:
        return Predictions(torch.nan, torch.nan, torch.nan)
    entropy, of_mean = entropy.item() / n, torch.special.entr(mean / n).sum().item()
    return Predictions(loss.item(), entropy, of_mean - entropy)
