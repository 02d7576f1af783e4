"""One pack of reviews through a model in one condition: states, logits, and what happened to its attention."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch

from homogenization.interventions.readings import massive_tokens
from homogenization.states.attention import AttentionMap, Through
from homogenization.states.network import PackedModel, run_packed

SINK = 10.0  # times the attention that a token receives on average, 1
TAKEN = 0.25  # of the attention that the sink received


class Recorder:
    """Lets attention pass through a change in some blocks, and sums up what the change did.

    Attributes:
        moved: total variation of A and A', summed over the changed blocks, heads and queries, (reviews,).
        changed: number of these rows, (reviews,).
        received: attention received, summed over the blocks, for each review (tokens,).

    Args:
        lengths: tokens of each review.
        change: what is done to the weights; None: nothing.
        blocks: indices of the blocks where it is done.
        after: whether attention received is read after the change, or before it.
        device: device of the sums.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        change: Through | None,
        blocks: Collection[int],
        after: bool,
        device: torch.device,
    ) -> None:
        self._change, self._blocks, self._after, self._device = change, blocks, after, device
        self.moved = torch.zeros(len(lengths), device=device)
        self.changed = np.zeros(len(lengths))
        self.received = [torch.zeros(length, device=device) for length in lengths]

    def __call__(self, attention: AttentionMap) -> torch.Tensor:
        """The weights that weigh the values."""
        before = after = attention.weights
        if self._change is not None and attention.block in self._blocks:
            after = self._change(attention)
            self.moved[attention.review] += ((after - before).abs().sum() / 2).to(self._device)
            self.changed[attention.review] += before.shape[0] * before.shape[1]
        keys = slice(attention.first_key, attention.first_key + before.shape[2])
        read = (after if self._after else before).sum(dim=(0, 1)) / before.shape[0]
        self.received[attention.review][keys] += read.to(self._device)
        return after


@dataclass(frozen=True)
class Run:
    """What one pass over a pack of reviews gives.

    Attributes:
        states: float32 (tokens, width) of each layer, on the CPU.
        logits: logits of the next token (tokens, vocabulary); None without a language-model head.
        received: attention received, mean over the blocks, for each review (tokens,).
        moved_mass: total variation of A and A', mean over changed blocks, heads and queries, (reviews,); NaN where
            nothing was changed.
        offsets: first token of each review, and the number of all tokens.
    """

    states: Sequence[np.ndarray]
    logits: torch.Tensor | None
    received: Sequence[np.ndarray]
    moved_mass: np.ndarray
    offsets: np.ndarray

    def states_of(self, review: int) -> list[np.ndarray]:
        """States (n, width) of one review at each layer."""
        start, stop = self.offsets[review : review + 2]
        return [states[start:stop] for states in self.states]

    @cached_property
    def massive(self) -> list[frozenset[int]]:
        """Places of the massive tokens of each review."""
        return [massive_tokens(self.states_of(review)) for review in range(len(self.received))]


def run(
    model: PackedModel,
    token_ids: np.ndarray,
    lengths: Sequence[int],
    change: Through | None = None,
    blocks: Collection[int] | None = None,
    positions: np.ndarray | None = None,
    reads_after: bool = False,
) -> Run:
    """Run `model` over reviews that lie end to end, with their attention changed in `blocks` (None: all).

    Args:
        model: transformer, with a language-model head or without.
        token_ids: token ids of all reviews.
        lengths: tokens of each review.
        change: what is done to the attention weights; None: nothing, by the same route.
        blocks: indices of the changed blocks.
        positions: position of each token; None to count from 0 in each review.
        reads_after: whether the attention received is read after the change, or before it.
    """
    changed = range(model.n_blocks) if blocks is None else blocks
    recorder = Recorder(lengths, change, changed, reads_after, model.device)
    states: list[np.ndarray] = []
    placed = None if positions is None else torch.as_tensor(positions)
    result = run_packed(
        model,
        token_ids,
        lengths,
        False,
        lambda _layer, taken: states.append(taken.to("cpu", torch.float32).numpy().copy()),
        recorder,
        placed,
    )
    with np.errstate(invalid="ignore"):
        moved_mass = recorder.moved.cpu().double().numpy() / recorder.changed
    received = [(of_review / model.n_blocks).cpu().numpy() for of_review in recorder.received]
    return Run(states, result.logits, received, moved_mass, np.cumsum([0, *lengths]))


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


def divergence(untouched: torch.Tensor, changed: torch.Tensor) -> float:
    """KL(p_0 || p) of the next-token distributions, mean over the tokens, in nats; logits (tokens, vocabulary)."""
    before, after = (torch.log_softmax(logits.float(), dim=-1) for logits in (untouched, changed))
    return float((before.exp() * (before - after)).sum(dim=-1).mean())


def cross_entropy(logits: torch.Tensor, token_ids: np.ndarray) -> float:
    """Mean of -log p(x_i | x_1 … x_i-1) over the tokens after the first, in nats; NaN for one token."""
    if len(token_ids) < 2:
        return float("nan")
    targets = torch.as_tensor(token_ids[1:], device=logits.device)
    return float(torch.nn.functional.cross_entropy(logits[:-1].float(), targets))


def damage(untouched: Run, changed: Run, token_ids: np.ndarray) -> list[tuple[float | None, float | None]]:
    """KL from the untouched model and cross-entropy of each review of the pack; None without a language-model head."""
    if untouched.logits is None or changed.logits is None:
        return [(None, None)] * len(changed.received)
    damages = []
    for start, stop in pairwise(changed.offsets.tolist()):
        after = changed.logits[start:stop]
        damages.append((divergence(untouched.logits[start:stop], after), cross_entropy(after, token_ids[start:stop])))
    return damages
