"""One pass over a review in float64, recorded for backward passes: attention weights, residual stream, block by block.

A network rounds some steps to float32 by itself, which is prevented here.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from homogenization.interventions.readings import massive_tokens
from homogenization.measures.blocks import Layout, points_taken
from homogenization.states.attention import AttentionMap
from homogenization.states.network import PackedModel, run_packed


class InFloat64(TorchFunctionMode):
    """A context in which what asks for float32 gets float64."""

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call `function` with float64 in the place of float32."""
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        wider = [torch.float64 if value is torch.float32 else value for value in args]
        named = {name: torch.float64 if value is torch.float32 else value for name, value in (kwargs or {}).items()}
        return function(*wider, **named)


def in_float64(model: PackedModel) -> PackedModel:
    """The model in float64, whose parameters take no gradient; the network itself is converted."""
    device = {"device": "cpu"} if model.device.type == "mps" else {}
    model.network.set_experts_implementation("eager")  # other kernels of a mixture of experts know no float64
    model.network.to(dtype=torch.float64, **device).requires_grad_(False)
    return model


@dataclass(frozen=True)
class Recorded:
    """What a pass over one review leaves.

    Attributes:
        maps: attention weights by chunk of queries, in the order of the blocks.
        probes: zeros that were added to the weights of each chunk; derivatives by A are taken by these.
        layers: residual stream (n, width) before the first block and after each.
        reached: the stream (n, width) of each block once its attention is in it; none where no layout was given.
        put_out: what attention puts out (n, width) in each block where a norm behind it passes on what is added to the
            stream; none elsewhere.
        behind: that norm of each block.
        massive: places of the massive tokens.
    """

    maps: Sequence[AttentionMap]
    probes: Sequence[torch.Tensor]
    layers: Sequence[torch.Tensor]
    reached: Sequence[torch.Tensor]
    put_out: Sequence[torch.Tensor]
    behind: Sequence[Callable[[torch.Tensor], torch.Tensor]]
    massive: frozenset[int]

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.layers) - 1

    def chunks_of(self, block: int) -> list[int]:
        """Numbers of the chunks of a block, from 0."""
        return [number for number, attention in enumerate(self.maps) if attention.block == block]


def record(model: PackedModel, token_ids: Sequence[int], layout: Layout | None = None) -> Recorded:
    """Run `model` over a review and keep what derivatives by its attention need.

    Args:
        model: transformer from `in_float64`.
        token_ids: token ids of one review.
        layout: structure of the blocks, for `Recorded.reached`.
    """
    maps: list[AttentionMap] = []
    probes: list[torch.Tensor] = []
    layers: list[torch.Tensor] = []
    reached: list[torch.Tensor] = []
    put_out: list[torch.Tensor] = []

    def through(attention: AttentionMap) -> torch.Tensor:
        probe = torch.zeros_like(attention.weights, requires_grad=True)
        maps.append(replace(attention, weights=attention.weights.detach()))
        probes.append(probe)
        return attention.weights + probe

    def take(_layer: int, point: str, states: torch.Tensor) -> None:
        if point == layout.reached_by_attention:
            reached.append(states)
        if norm is not None and point == layout.components["attention"][1]:
            put_out.append(states)

    norm = None if layout is None else layout.norm_behind_attention
    behind = [] if norm is None else [partial(_normed, block.get_submodule(norm)) for block in model.blocks]
    taken = nullcontext() if layout is None else points_taken(model, layout, take)
    with InFloat64(), taken:
        run_packed(
            model, token_ids, [len(token_ids)], False, lambda _, states: layers.append(states), through, gradients=True
        )
    massive = massive_tokens([layer.detach().cpu().numpy() for layer in layers])
    return Recorded(maps, probes, layers, reached, put_out, behind, massive)


def _normed(norm: torch.nn.Module, states: torch.Tensor) -> torch.Tensor:
    with InFloat64(), torch.no_grad():
        return norm(states)
