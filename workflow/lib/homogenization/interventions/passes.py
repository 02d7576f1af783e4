"""One review through a model in one condition: states, logits, and what happened to its attention."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from homogenization.interventions.readings import massive_tokens
from homogenization.states.attention import AttentionMap, Through
from homogenization.states.network import Transformer, forward

SINK = 10.0  # times the attention that a token receives on average, 1
TAKEN = 0.25  # of the attention that the sink received


class Recorder:
    """Lets attention pass through a change in some blocks, and sums up what the change did.

    Attributes:
        moved: total variation of A and A', summed over the changed blocks, heads and queries.
        changed: number of these rows.
        received: attention received, summed over the blocks, (tokens,).

    Args:
        n_tokens: tokens of the review.
        change: what is done to the weights; None: nothing.
        blocks: indices of the blocks where it is done.
        after: whether attention received is read after the change, or before it.
        device: device of the sums.
    """

    def __init__(
        self, n_tokens: int, change: Through | None, blocks: Collection[int], after: bool, device: torch.device
    ) -> None:
        self._change, self._blocks, self._after, self._device = change, blocks, after, device
        self.moved, self.changed = torch.zeros((), device=device), 0
        self.received = torch.zeros(n_tokens, device=device)

    def __call__(self, attention: AttentionMap) -> torch.Tensor:
        """The weights that weigh the values."""
        before = after = attention.weights
        if self._change is not None and attention.block in self._blocks:
            after = self._change(attention)
            self.moved += ((after - before).abs().sum() / 2).to(self._device)
            self.changed += before.shape[0] * before.shape[1]
        keys = slice(attention.first_key, attention.first_key + before.shape[2])
        read = (after if self._after else before).sum(dim=(0, 1)) / before.shape[0]
        self.received[keys] += read.to(self._device)
        return after


@dataclass(frozen=True)
class Run:
    """What one pass over a review gives.

    Attributes:
        states: states (tokens, width) of each layer, float32.
        received: attention received, mean over the blocks, (tokens,).
        moved_mass: total variation of A and A', mean over changed blocks, heads and queries; NaN without changes.
        logits: logits of the next token (tokens, vocabulary), on the device; None without a language-model head.
    """

    states: Sequence[np.ndarray]
    received: np.ndarray
    moved_mass: float
    logits: torch.Tensor | None

    @property
    def is_finite(self) -> bool:
        """Whether the states are finite at all layers."""
        return all(np.isfinite(of_layer).all() for of_layer in self.states)

    @cached_property
    def massive(self) -> frozenset[int]:
        """Places of the massive tokens."""
        return massive_tokens(self.states)


def run(
    model: Transformer,
    token_ids: np.ndarray,
    change: Through | None = None,
    blocks: Collection[int] | None = None,
    *,
    positions: np.ndarray | None = None,
    reads_after: bool = False,
) -> Run:
    """Run `model` over a review, with its attention changed in `blocks` (None: all).

    Args:
        model: transformer, with a language-model head or without.
        token_ids: token ids of the review.
        change: what is done to the attention weights; None: nothing, by the same route.
        blocks: indices of the changed blocks.
        positions: position of each token; None to count from 0.
        reads_after: whether the attention received is read after the change, or before it.
    """
    changed = range(model.n_blocks) if blocks is None else blocks
    recorder = Recorder(len(token_ids), change, changed, reads_after, model.device)
    states: list[np.ndarray] = []

    def take(_layer: int, of_layer: torch.Tensor) -> None:
        states.append(of_layer.to("cpu", torch.float32, copy=True).numpy())

    placed = None if positions is None else torch.as_tensor(positions)
    result = forward(model, token_ids, take, through=recorder, positions=placed)
    moved = recorder.moved.item() / recorder.changed if recorder.changed else np.nan
    return Run(states, (recorder.received / model.n_blocks).cpu().numpy(), moved, result.logits)


def sink_moved(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether another token takes over the sink, the token that received most attention.

    It does where it now receives most, more than ten times the mean token, and by a gain of at least a quarter of what
    the sink received. A token that is a little more attended than before, while the sink stays the sink, does not.

    Args:
        before: attention received by each token of a review in the untouched run, (tokens,).
        after: the same in the changed run.
    """
    sink, most = int(before.argmax()), int(after.argmax())
    gain = after[most] - before[most]
    return bool(most != sink and after[most] > SINK and gain >= TAKEN * before[sink])


def divergence(untouched: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """KL(p_0 || p) of the next-token distributions, mean over the tokens, in nats; logits (tokens, vocabulary)."""
    before, after = (torch.log_softmax(logits.float(), dim=-1) for logits in (untouched, changed))
    difference = torch.sub(before, after, out=after)  # for large vocabularies, each of these takes a gigabyte
    return before.exp_().mul_(difference).sum(dim=-1).mean()


def cross_entropy(logits: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
    """Mean of -log p(x_i | x_1 … x_i-1) over the tokens after the first, in nats; NaN for one token."""
    if len(token_ids) < 2:
        return logits.new_tensor(torch.nan, dtype=torch.float32)
    return torch.nn.functional.cross_entropy(logits[:-1].float(), token_ids[1:].to(logits.device))


def damage(untouched: Run, changed: Run, token_ids: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    """KL from the untouched model, and cross-entropy; None without a language-model head."""
    if untouched.logits is None or changed.logits is None:
        return None, None
    with torch.inference_mode():
        kl = divergence(untouched.logits, changed.logits)
        return kl.item(), cross_entropy(changed.logits, torch.as_tensor(token_ids)).item()
