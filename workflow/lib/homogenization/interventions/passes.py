"""One pack of reviews through a model in one condition: states, logits, and what happened to its attention."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from transformers import PreTrainedModel

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


class OnHost:
    """Numbers that were copied into main memory.

    Args:
        rows: (rows, width), of any float type and on any device.
    """

    def __init__(self, rows: torch.Tensor) -> None:
        self._rows = rows.to("cpu", copy=True)

    def rows(self, start: int = 0, stop: int | None = None) -> np.ndarray:
        """Some rows, float32."""
        return self._rows[start:stop].float().numpy()

    def are_finite(self, start: int, stop: int) -> bool:
        """Whether all numbers of some rows are finite."""
        return bool(self._rows[start:stop].isfinite().all())


@dataclass(frozen=True)
class Run:
    """What one pass over a pack of reviews gives.

    Attributes:
        layers: states (tokens, width) of each layer.
        received_and_moved: attention received by each token, mean over the blocks; then the total variation of A and A'
            of each review, summed over changed blocks, heads and queries.
        changed: number of these rows, (reviews,).
        offsets: first token of each review, and the number of all tokens.
        last: states (tokens, width) that the language-model head reads, on the device.
        network: network with the head; None without one.
    """

    layers: Sequence[OnHost]
    received_and_moved: OnHost
    changed: np.ndarray
    offsets: np.ndarray
    last: torch.Tensor | None
    network: PreTrainedModel | None
    _massive: dict[int, frozenset[int]] = field(default_factory=dict)
    _logits: dict[int, torch.Tensor] = field(default_factory=dict)

    def states_of(self, review: int) -> list[np.ndarray]:
        """States (n, width) of one review at each layer, float32."""
        return [layer.rows(*self.offsets[review : review + 2]) for layer in self.layers]

    @property
    def states(self) -> list[np.ndarray]:
        """States (tokens, width) of each layer, float32."""
        return [layer.rows() for layer in self.layers]

    def is_finite(self, review: int) -> bool:
        """Whether the states of a review are finite at all layers."""
        return all(layer.are_finite(*self.offsets[review : review + 2]) for layer in self.layers)

    def massive_of(self, review: int) -> frozenset[int]:
        """Places of the massive tokens of a review."""
        if review not in self._massive:
            self._massive[review] = massive_tokens(self.states_of(review))
        return self._massive[review]

    @property
    def massive(self) -> list[frozenset[int]]:
        """Places of the massive tokens of each review."""
        return [self.massive_of(review) for review in range(len(self.changed))]

    @property
    def received(self) -> list[np.ndarray]:
        """Attention received, mean over the blocks, for each review (tokens,)."""
        received = self.received_and_moved.rows()[:, 0]
        return [received[start:stop] for start, stop in pairwise(self.offsets)]

    @property
    def moved_mass(self) -> np.ndarray:
        """Total variation of A and A', mean over changed blocks, heads and queries, (reviews,); NaN without changes."""
        with np.errstate(invalid="ignore"):
            return self.received_and_moved.rows(self.offsets[-1])[:, 0].astype(np.float64) / self.changed

    def logits_of(self, review: int) -> torch.Tensor | None:
        """Logits of the next token (n, vocabulary) of one review; None without a language-model head.

        They are computed here, and kept in main memory alone: on a GPU, those of a whole pack may take gigabytes.
        """
        if self.network is None or self.last is None:
            return None
        if review in self._logits:
            return self._logits[review]
        logits = _logits(self.network, self.last[slice(*self.offsets[review : review + 2])].clone())
        if logits.device.type == "cpu":
            self._logits[review] = logits
        return logits


class _LastStates(tuple):
    """An output of a base model: the states that a head reads come first, and nothing else is there."""

    @property
    def last_hidden_state(self) -> torch.Tensor:
        return self[0]

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def _logits(network: PreTrainedModel, states: torch.Tensor) -> torch.Tensor:
    """What `network` makes of states (n, width) that its base model has put out: its head, scales and caps."""
    base = network.base_model
    own = vars(base).get("forward")
    base.forward = lambda *_, **__: _LastStates((states[None],))
    try:
        with torch.inference_mode():
            ids = torch.zeros(1, len(states), dtype=torch.long, device=states.device)
            return network(input_ids=ids, use_cache=False).logits[0]
    finally:
        if own is None:
            del base.forward
        else:
            base.forward = own


def run(
    model: PackedModel,
    token_ids: np.ndarray,
    lengths: Sequence[int],
    change: Through | None = None,
    blocks: Collection[int] | None = None,
    *,
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
    base = model.network.base_model
    recorder = Recorder(lengths, change, changed, reads_after, model.device)
    layers: list[OnHost] = []
    placed = None if positions is None else torch.as_tensor(positions)
    result = run_packed(
        replace(model, network=base),
        token_ids,
        lengths,
        False,
        lambda _layer, states: layers.append(OnHost(states)),
        through=recorder,
        positions=placed,
    )
    sums = torch.cat([torch.cat(recorder.received) / model.n_blocks, recorder.moved])
    last, head = (None, None) if base is model.network else (result.last_hidden_state, model.network)
    return Run(layers, OnHost(sums[:, None]), recorder.changed, np.cumsum([0, *lengths]), last, head)


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


def damage(untouched: Run, changed: Run, token_ids: np.ndarray) -> OnHost | None:
    """KL from the untouched model and cross-entropy, (reviews, 2); None without a language-model head."""
    if untouched.network is None or changed.network is None:
        return None
    ids = torch.as_tensor(token_ids, device=changed.last.device)
    damages = []
    for review, (start, stop) in enumerate(pairwise(changed.offsets.tolist())):
        after = changed.logits_of(review)
        before = after if changed is untouched else untouched.logits_of(review)
        with torch.inference_mode():
            damages.append(torch.stack([divergence(before, after), cross_entropy(after, ids[start:stop])]))
    return OnHost(torch.stack(damages))
