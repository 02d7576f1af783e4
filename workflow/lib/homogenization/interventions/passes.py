"""One review through a model, untouched or in a condition: its states, its logits, what happened to its attention."""

import logging
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch

from homogenization.interventions.conditions import POSITIONS, STEERING, UNTOUCHED, Condition, blocks_of
from homogenization.interventions.patterns import PATTERNS, drawn_place
from homogenization.interventions.readings import massive_tokens
from homogenization.models.network import LanguageModel
from homogenization.run.errors import HomogenizationError
from homogenization.states.forward import Attention, Watch, forward

MASSIVE_ROUNDS = 8  # times that massive tokens are masked, each time with those that grew massive since

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """What one pass over a review gives.

    Attributes:
        states: states (tokens, width) of each layer, float32.
        massive: places of the massive tokens.
        received: attention received, mean over the blocks, (tokens,); NaN where attention is out of reach. In a
            steered run, it is that of the model's own weights, into which P is not mixed yet.
        moved_mass: total variation of A and A', mean over changed blocks, heads and queries; 0 without changes.
        logits: logits of the next token (tokens, vocabulary), on the device; None without a language-model head.
    """

    states: list[np.ndarray]
    massive: frozenset[int]
    received: np.ndarray
    moved_mass: float
    logits: torch.Tensor | None


def run(
    model: LanguageModel,
    token_ids: np.ndarray,
    change: Watch | None = None,
    *,
    reads_before: bool = False,
    positions: np.ndarray | None = None,
) -> Run:
    """Run a model over a review, `change` what is done to the attention weights of each block.

    The attention received is read after the change, or before it with `reads_before`.
    """
    moved, before = [], []

    def watch(attention: Attention) -> torch.Tensor:
        weights = change(attention)
        if weights is not attention.weights:
            moved.append((weights - attention.weights).abs().sum(-1).mean().item() / 2)
        before.append(attention.weights.mean(0).sum(0).cpu())
        return weights

    result = forward(model, token_ids, watch=watch if change else None, positions=positions)
    states = [of_layer.to("cpu", torch.float32).numpy() for of_layer in result.states]
    received = torch.stack(before) if reads_before else result.received
    mean = np.full(len(token_ids), np.nan) if received is None else received.mean(0).cpu().numpy()
    return Run(states, massive_tokens(states), mean, np.mean(moved or [0.0]).item(), result.logits)


def run_in(condition: Condition, model: LanguageModel, token_ids: np.ndarray, untouched: Run, *, draw: bytes) -> Run:
    """Run a review in a condition; `untouched` is its run in which nothing is done, `draw` names its draws.

    Massive tokens are found again in the changed run, and masked too, until it has none that is not masked: at most
    eight times, since in trained models the next token may grow massive each time, up to the end of the text.

    Raises:
        HomogenizationError: attention is out of reach, the model lacks the blocks, or its positions are not rotary.
    """
    if condition.kind == UNTOUCHED:
        return untouched
    if condition.kind == STEERING:
        blocks = blocks_of(condition.blocks, model.n_blocks)
        change = steering(condition.pattern, condition.strength, blocks, draw)
        return run(model, token_ids, change, reads_before=True)
    if condition.kind == POSITIONS:
        if not any("rotary" in type(module).__name__.lower() for module in model.network.modules()):
            raise HomogenizationError(
                f"interventions.positions: {model.architecture} has no rotary positions; learned ones have no meaning "
                "elsewhere. Set 'positions: null', or name models under interventions.models."
            )
        return run(model, token_ids, positions=np.zeros(len(token_ids), dtype=np.int64))
    known = {"first": {0}, "most_attended": {int(untouched.received.argmax())}, "massive": untouched.massive}
    drawn = {drawn_place(1, len(token_ids), draw, condition.pattern)} if len(token_ids) > 1 else ()
    places = frozenset(known.get(condition.pattern, drawn))
    for _ in range(MASSIVE_ROUNDS):
        changed = run(model, token_ids, masked(places))
        if condition.pattern != "massive" or changed.massive <= places:
            return changed
        places |= changed.massive
    logger.warning("masked-massive: a further token is massive after %d rounds, and is read", MASSIVE_ROUNDS)
    return changed


def steering(pattern: str, strength: float, blocks: Collection[int], draw: bytes) -> Watch:
    """A' = (1 - λ) A + λ P in `blocks`, from 0, for the queries that see the first token.

    With a sliding window, later queries do not: no pattern changes them, so that patterns and controls change the same.
    At a `strength` λ of 0, A' is A bit for bit. `draw` names the review's draws.
    """

    def change(attention: Attention) -> torch.Tensor:
        if attention.block not in blocks:
            return attention.weights
        steered = (1 - strength) * attention.weights + strength * PATTERNS[pattern](attention, draw)
        return steered.where(attention.seen[:, :1], attention.weights)

    return change


def masked(places: Collection[int]) -> Watch:
    """Keys at `places` that no query reads but their own: their mass goes to the other keys, in proportion.

    A query whose other weights are all 0 reads itself.
    """

    def change(attention: Attention) -> torch.Tensor:
        weights = attention.weights
        own = torch.eye(len(attention.seen), dtype=torch.bool, device=weights.device)
        shut = torch.zeros_like(own)
        shut[:, sorted(places)] = True
        left = weights.masked_fill(shut & ~own, 0)
        mass = left.sum(-1, keepdim=True)
        return (left * (weights.sum(-1, keepdim=True) / mass)).where(mass > 0, own.to(weights.dtype))

    return change
