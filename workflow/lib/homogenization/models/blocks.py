"""The transformer blocks of a network, and hooks on modules."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.nn import Module, ModuleList
from torch.utils.hooks import RemovableHandle
from transformers import PreTrainedConfig, PreTrainedModel

from homogenization.run.errors import HomogenizationError

# fields of configurations whose blocks do what one residual stream can't show, and what that is
_REFUSED = {
    "is_encoder_decoder": "an encoder-decoder has two residual streams",
    "altup_num_inputs": "it keeps several residual streams side by side, of which each block changes one",
    "index_topk": "an indexer chooses the tokens that each token attends to",
}


def unsupported(architecture: str, reason: str) -> HomogenizationError:
    """The error for an architecture whose blocks, attention or positions can't be honoured."""
    return HomogenizationError(
        f"{architecture}: {reason}; its numbers would be wrong, so the model is refused. Choose another, of an "
        "architecture such as Llama, Gemma, Qwen, GPT-2, GPT-NeoX or BERT."
    )


def refuse_several_streams(config: PreTrainedConfig) -> None:
    """Refuse a configuration whose network has not one residual stream, or chooses whom tokens attend to."""
    for field, reason in _REFUSED.items():
        if getattr(config, field, None) or getattr(config.get_text_config(), field, None):
            raise unsupported(config.model_type, f"{reason} ({field})")


def base_of(network: PreTrainedModel) -> PreTrainedModel:
    """The network without its head."""
    if network.base_model is not network or network.get_output_embeddings() is None:
        return network.base_model
    # transformers looks for it under another name (Llama 4)
    return next(part for part in network.children() if isinstance(part, PreTrainedModel))


def blocks_of(network: PreTrainedModel) -> ModuleList:
    """The blocks of `network`, in order.

    Raises:
        HomogenizationError: it has not exactly one list of as many blocks as its configuration gives.
    """
    config = network.config.get_text_config()
    n_blocks = getattr(config, "num_hidden_layers", None)
    lists = [module for module in network.modules() if isinstance(module, ModuleList) and len(module) == n_blocks]
    inner = {id(module) for outer in lists for module in outer.modules() if module is not outer}
    outermost = [module for module in lists if id(module) not in inner]
    if len(outermost) != 1:
        others = config is not network.config
        cure = "; it holds other networks too, so save the one for texts alone (its save_pretrained)" if others else ""
        said = f"{len(outermost)} lists of {n_blocks} blocks instead of one{cure}"
        raise unsupported(type(network).__name__, said)
    return outermost[0]


def before_module(module: Module, take: Callable[[Tensor], None]) -> RemovableHandle:
    """The hook that hands the states which enter `module`, (reviews, tokens, width), to `take`."""

    def hand_over(_module: Module, positional: tuple, named: dict[str, Any]) -> None:
        take(positional[0] if positional else named["hidden_states"])

    return module.register_forward_pre_hook(hand_over, with_kwargs=True)


def after_module(module: Module, take: Callable[[Tensor], None]) -> RemovableHandle:
    """The hook that hands the states which leave `module`, (reviews, tokens, width), to `take`."""
    return module.register_forward_hook(
        lambda _module, _inputs, output: take(output[0] if isinstance(output, tuple) else output)
    )
