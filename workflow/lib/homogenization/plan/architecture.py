"""The size of a model's network, from its configuration: parameters, blocks, widths.

No weights are needed: the network is built on torch's meta device, where tensors have a shape and no content.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from homogenization.models.loading import load_config, skeleton
from homogenization.states.network import transformer_of


@dataclass(frozen=True)
class Architecture:
    """The numbers that the costs of a network follow from.

    Attributes:
        name: Name of the network's class.
        n_parameters: Parameters of the network, embeddings included, without a head.
        n_head: Parameters of a head of its own, which lies in the files and does not run; 0 where it is the embedding.
        n_multiplied: Entries of the blocks' matrices that multiply a token; of experts, those of the chosen ones.
        n_blocks: Number of blocks.
        width: Width of the residual stream.
        widest: Longest side of a matrix in the blocks, such as the inner width of the feed-forward network.
        heads: Heads of queries in a block.
        head_width: Width of a head.
        causal: Whether a token attends only to itself and earlier tokens.
        final_norm: Whether a norm follows the last block.
        n_logits: Entries of the matrix that turns a state into logits, wherever it lies.
    """

    name: str
    n_parameters: int
    n_head: int
    n_multiplied: int
    n_blocks: int
    width: int
    widest: int
    heads: int
    head_width: int
    causal: bool
    final_norm: bool
    n_logits: int = 0


def describe_architecture(folder: str | Path) -> Architecture:
    """Read config.json in `folder` and describe the network that it builds on the meta device.

    Raises:
        HomogenizationError: a configuration that transformers does not know, or a network without one list of blocks.
    """
    config = load_config(Path(folder))
    model = transformer_of(skeleton(config))
    text = config.get_text_config()
    matrices = [parameter for parameter in model.blocks.parameters() if parameter.ndim > 1]
    heads = text.num_attention_heads
    return Architecture(
        name=model.architecture,
        n_parameters=sum(parameter.numel() for parameter in model.network.parameters()),
        n_head=0 if text.tie_word_embeddings else text.vocab_size * model.width,
        n_multiplied=sum(_entries_a_token_meets(matrix, text) for matrix in matrices),
        n_blocks=model.n_blocks,
        width=model.width,
        widest=max(max(matrix.shape[-2:]) for matrix in matrices),
        heads=heads,
        head_width=getattr(text, "head_dim", None) or model.width // heads,
        causal=all(getattr(module, "is_causal", True) for module in model.blocks.modules()),
        final_norm=_ends_with_norm(model.network, model.blocks),
        n_logits=text.vocab_size * model.width,
    )


def _entries_a_token_meets(matrix: torch.nn.Parameter, config: Any) -> int:
    """Entries of a matrix; of experts, which lie in one tensor (experts, ..., ...), the entries of the chosen ones."""
    if matrix.ndim == 2:
        return matrix.numel()
    return math.prod(matrix.shape[1:]) * getattr(config, "num_experts_per_tok", matrix.shape[0])


def _ends_with_norm(network: torch.nn.Module, blocks: torch.nn.ModuleList) -> bool:
    """Whether a norm is registered after the blocks: architectures list their modules in the order of their use."""
    modules = list(network.modules())
    last = modules.index(list(blocks.modules())[-1])
    return any("norm" in type(module).__name__.lower() for module in modules[last + 1 :])
