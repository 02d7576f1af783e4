"""A network in a wider type, in which its weights are the same numbers: those of a block while it runs alone.

What it takes in memory beyond the weights is one block, and what lies outside of the blocks.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor
from torch.nn import Module, ModuleList
from torch.utils.hooks import RemovableHandle

from homogenization.models.blocks import hooked


def numbers_of(module: Module) -> list[Tensor]:
    """Parameters and buffers of a float type."""
    return [tensor for tensor in (*module.parameters(), *module.buffers()) if tensor.is_floating_point()]


def outside_of(blocks: ModuleList, network: Module) -> list[Tensor]:
    """The numbers of `network` that are not in `blocks`."""
    inside = set(map(id, numbers_of(blocks)))
    return [tensor for tensor in numbers_of(network) if id(tensor) not in inside]


def widen(tensors: Iterable[Tensor], dtype: torch.dtype) -> None:
    """Hold `tensors` in `dtype`, or in their own type where that is wider."""
    with torch.inference_mode(False):  # the numbers may serve in a backward pass too
        for tensor in tensors:
            tensor.data = tensor.data.to(torch.promote_types(tensor.dtype, dtype))


@contextmanager
def widened(tensors: Iterable[Tensor], dtype: torch.dtype) -> Iterator[None]:
    """Within, `tensors` are as `widen` makes them; afterwards they have their own numbers again."""
    own = [(tensor, tensor.data) for tensor in tensors]
    try:
        widen((tensor for tensor, _ in own), dtype)
        yield
    finally:
        for tensor, data in own:
            tensor.data = data


def widen_while_running(blocks: ModuleList, dtype: torch.dtype) -> list[RemovableHandle]:
    """Let each of `blocks` be as `widened` while it runs, until the hooks that are returned are removed."""
    hooks = []
    for block in blocks:
        running = ExitStack()

        def begin(module: Module, _inputs: tuple, running: ExitStack = running) -> None:
            running.enter_context(widened(numbers_of(module), dtype))

        def end(_module: Module, _inputs: tuple, _output: object, running: ExitStack = running) -> None:
            running.close()

        hooks.append(block.register_forward_pre_hook(begin, prepend=True))
        hooks.append(block.register_forward_hook(end, always_call=True))
    return hooks


@contextmanager
def widened_by_block(network: Module, blocks: ModuleList, dtype: torch.dtype) -> Iterator[None]:
    """Within, passes of `network` are in `dtype`; `blocks` are its blocks."""
    with widened(outside_of(blocks, network), dtype), hooked(widen_while_running(blocks, dtype)):
        yield
