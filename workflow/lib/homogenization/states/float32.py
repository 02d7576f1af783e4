"""Passes of a network in half precision with its own weights in float32, one block at a time."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import torch

from homogenization.states.network import PackedModel


@contextmanager
def in_float32(model: PackedModel) -> Iterator[None]:
    """Raise the network's weights to float32 while passes run; those of a block while it runs alone.

    What it takes in memory beyond the weights is one block and the embedding in float32.

    Args:
        model: transformer whose weights lie on their devices.
    """
    of_blocks = {id(weight) for weight in model.blocks.parameters()}
    outside = [weight for weight in model.network.parameters() if id(weight) not in of_blocks]
    with ExitStack() as stack:
        stack.enter_context(_raised(outside))
        for block in model.blocks:
            while_it_runs = ExitStack()

            def begin(module: torch.nn.Module, _inputs: tuple, raised: ExitStack = while_it_runs) -> None:
                raised.enter_context(_raised(list(module.parameters())))

            def end(_module: torch.nn.Module, _inputs: tuple, _out: object, raised: ExitStack = while_it_runs) -> None:
                raised.close()

            stack.callback(block.register_forward_pre_hook(begin, prepend=True).remove)
            stack.callback(block.register_forward_hook(end, always_call=True).remove)
        yield


@contextmanager
def _raised(weights: Iterable[torch.nn.Parameter]) -> Iterator[None]:
    """Hold `weights` in float32; afterwards they have their own numbers again."""
    own = [(weight, weight.data) for weight in weights]
    with torch.inference_mode(False):
        for weight, data in own:
            weight.data = data.float()
    try:
        yield
    finally:
        for weight, data in own:
            weight.data = data
