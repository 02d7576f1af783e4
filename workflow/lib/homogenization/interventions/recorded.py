"""One pass over a review in float64, and its backward passes block by block.

Of the forward pass, the residual stream stays. A backward pass goes from the last block to the first; each block runs
once more on the stream that entered it, and only its own attention weights and activations are in memory. So is its
copy in float64: elsewhere the weights keep their type, from which float64 is exact. A network rounds some steps to
float32 by itself, which is prevented here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from homogenization.interventions.readings import massive_tokens
from homogenization.measures.blocks import Layout, points_captured
from homogenization.models.blocks import hooked, states_in
from homogenization.models.widening import numbers_of, outside_of, widen, widen_while_running, widened
from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import AttentionMap, PackedPass, attending_to
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
    """The model in float64, whose parameters take no gradient; of its blocks, each while it runs.

    The network itself is changed: what lies outside of its blocks is converted, and hooks convert a block and put its
    own weights back.
    """
    device = {"device": "cpu"} if model.device.type == "mps" else {}
    model.network.set_experts_implementation("eager")  # other kernels of a mixture of experts know no float64
    model.network.to(**device).requires_grad_(False)
    widen(outside_of(model.blocks, model.network), torch.float64)
    widen_while_running(model.blocks, torch.float64)
    return model


@dataclass(frozen=True)
class RecordedBlock:
    """A block that ran on a review, recorded for backward passes.

    Attributes:
        index: index of the block, from 0.
        maps: attention weights by chunk of queries.
        probes: zeros that were added to the weights of each chunk; derivatives by A are taken by these.
        entering: the residual stream (n, width) before the block.
        output: the stream after it.
        resid_mid: the stream once the block's attention is in it; None where no layout was given.
        attn_out: what attention puts out (n, width), where a norm behind it passes on what is added to the stream.
        behind: that norm.
    """

    index: int
    maps: Sequence[AttentionMap]
    probes: Sequence[torch.Tensor]
    entering: torch.Tensor
    output: torch.Tensor
    resid_mid: torch.Tensor | None = None
    attn_out: torch.Tensor | None = None
    behind: Callable[[torch.Tensor], torch.Tensor] | None = None

    def pulled_back(self, gradient: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Derivatives by `entering` and by the weights of each chunk, from those by `output`."""
        by_stream, *by_weights = torch.autograd.grad(
            self.output, [self.entering, *self.probes], gradient, retain_graph=True
        )
        return by_stream, by_weights


@dataclass(frozen=True)
class Recorded:
    """What a pass over one review leaves.

    Attributes:
        model: transformer from `in_float64`.
        layers: residual stream (n, width) before the first block and after each.
        arguments: what each block was called with besides the stream, by position and by name.
        massive: places of the massive tokens.
        layout: structure of the blocks; None where it is not known.
    """

    model: PackedModel
    layers: Sequence[torch.Tensor]
    arguments: Sequence[tuple[tuple, dict[str, Any]]]
    massive: frozenset[int]
    layout: Layout | None

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.layers) - 1

    @contextmanager
    def block(self, index: int) -> Iterator[RecordedBlock]:
        """A context in which a block has run again, and is in memory for backward passes."""
        model, layout, block = self.model, self.layout, self.model.blocks[index]
        maps: list[AttentionMap] = []
        probes: list[torch.Tensor] = []
        taken: dict[str, torch.Tensor] = {}

        def through(attention: AttentionMap) -> torch.Tensor:
            probe = torch.zeros_like(attention.weights, requires_grad=True)
            maps.append(replace(attention, weights=attention.weights.detach()))
            probes.append(probe)
            return attention.weights + probe

        def take(_layer: int, point: str, states: torch.Tensor) -> None:
            taken[point] = states

        entering = self.layers[index].detach().requires_grad_()
        positional, named = self.arguments[index]
        packed_pass = PackedPass(model.architecture, model.block_of, [0, len(entering)], None, through)
        alone = replace(model, blocks=model.blocks[index : index + 1])
        points = nullcontext() if layout is None else points_captured(alone, layout, take)
        with widened(numbers_of(block), torch.float64):
            with InFloat64(), attending_to(packed_pass), points:
                output = states_in(block(entering[None], *positional, **named))[0]
            kept = {}
            if layout is not None:
                kept["resid_mid"] = taken[layout.reached_by_attention]
                if norm := layout.norm_behind_attention:
                    kept["attn_out"] = taken[layout.components["attention"][1]]
                    kept["behind"] = partial(_normed, block.get_submodule(norm))
            taken.clear()
            yield RecordedBlock(index, maps, probes, entering, output, **kept)

    def backwards(
        self, gradients: Sequence[torch.Tensor], read: Callable[[RecordedBlock, list[list[torch.Tensor]]], None]
    ) -> None:
        """Go back from the last block to the first, with one block in memory at a time.

        Args:
            gradients: derivatives of some numbers by the last of `layers`, (n, width) each.
            read: function called with each block, and the derivatives of each number by the weights of each chunk. It
                must keep neither.
        """
        for index in reversed(range(self.n_blocks)):
            with self.block(index) as block:
                gradients, by_weights = zip(*map(block.pulled_back, gradients), strict=True)
                read(block, list(by_weights))
            del block, by_weights


def record(model: PackedModel, token_ids: Sequence[int], layout: Layout | None = None) -> Recorded:
    """Run `model` over a review and keep what derivatives by its attention need.

    Args:
        model: transformer from `in_float64`.
        token_ids: token ids of one review.
        layout: structure of the blocks, for `RecordedBlock.resid_mid`.

    Raises:
        HomogenizationError: a block reads more of the blocks before it than the residual stream.
    """
    layers: list[torch.Tensor] = []
    arguments: list[tuple[tuple, dict[str, Any]]] = []

    def before(_block: torch.nn.Module, positional: tuple, named: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        stream, *others = positional or (named["hidden_states"],)
        named = {name: value for name, value in named.items() if name != "hidden_states"}
        # what follows from an earlier block has a gradient, since the stream that enters each block has one
        further = [value for value in tree_leaves((others, named)) if isinstance(value, torch.Tensor)]
        changed = layers and stream is not layers[-1] and not torch.equal(stream.to(layers[-1].device), layers[-1])
        if changed or any(value.requires_grad for value in further):
            raise HomogenizationError(
                f"interventions.slopes: block {len(arguments) + 1} of {model.architecture} reads more of the blocks "
                "before it than the residual stream, so no slope can be taken block by block. Set 'slopes: null', or "
                "leave the model out of interventions.models."
            )
        arguments.append((tuple(others), named))
        return (stream if layers else stream.detach().requires_grad_(), *others), named

    def after(_block: torch.nn.Module, _inputs: tuple, output: Any) -> Any:
        layers.append(states_in(output).detach().requires_grad_())
        return (layers[-1], *output[1:]) if isinstance(output, tuple) else layers[-1]

    hooks = [block.register_forward_pre_hook(before, with_kwargs=True) for block in model.blocks]
    hooks += [block.register_forward_hook(after) for block in model.blocks]
    streams: list[torch.Tensor] = []
    with hooked(hooks), InFloat64():
        run_packed(
            model,
            token_ids,
            [len(token_ids)],
            False,
            lambda _, states: streams.append(states.detach()),
            gradients=True,
        )
    return Recorded(model, streams, arguments, _massive(streams), layout)


def on_host(numbers: torch.Tensor) -> np.ndarray:
    """Numbers that a device has computed."""
    return numbers.detach().cpu().numpy()


def _massive(layers: Sequence[torch.Tensor]) -> frozenset[int]:
    return massive_tokens([on_host(layer) for layer in layers])


def _normed(norm: torch.nn.Module, states: torch.Tensor) -> torch.Tensor:
    with InFloat64(), torch.no_grad():
        return norm(states)
