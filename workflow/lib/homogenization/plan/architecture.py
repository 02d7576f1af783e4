"""The size of a model's network, from its configuration: it is built on torch's meta device, without numbers."""

from dataclasses import dataclass
from pathlib import Path

import torch

from homogenization.models.loading import load_config, skeleton
from homogenization.states.network import transformer_of


@dataclass(frozen=True)
class Architecture:
    """The numbers that the costs of a network follow from.

    Attributes:
        name: name of the network's class.
        n_parameters: parameters of the network, embeddings included, without a head.
        n_blocks: number of blocks.
        width: width of the residual stream.
        final_norm: whether a norm follows the last block.
    """

    name: str
    n_parameters: int
    n_blocks: int
    width: int
    final_norm: bool


def describe_architecture(folder: str | Path) -> Architecture:
    """Read config.json in `folder` and describe the network that it builds on the meta device.

    Raises:
        HomogenizationError: a configuration that transformers does not know, or a network without one list of blocks.
    """
    model = transformer_of(skeleton(load_config(Path(folder))))
    return Architecture(
        name=model.architecture,
        n_parameters=sum(parameter.numel() for parameter in model.network.parameters()),
        n_blocks=model.n_blocks,
        width=model.width,
        final_norm=_ends_with_norm(model.network, model.blocks),
    )


def _ends_with_norm(network: torch.nn.Module, blocks: torch.nn.ModuleList) -> bool:
    """Whether a norm is registered after the blocks: architectures list their modules in the order of their use."""
    modules = list(network.modules())
    last = modules.index(list(blocks.modules())[-1])
    return any("norm" in type(module).__name__.lower() for module in modules[last + 1 :])
