"""Configuration and network from a folder of safetensors, without code from that folder."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from homogenization.models.blocks import base_of, refuse_several_streams
from homogenization.models.weights import failure
from homogenization.run.errors import HomogenizationError


def load_config(folder: Path) -> PreTrainedConfig:
    """The configuration in `folder`; refused where transformers does not know it by itself."""
    with failure(f"{folder / 'config.json'}: no configuration that transformers knows without a model's code"):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    # how attention is computed, and the form of the output, are the caller's choice and not the file's
    config._attn_implementation, config.return_dict = None, True
    return config


def skeleton(config: PreTrainedConfig) -> PreTrainedModel:
    """The network without its head on the meta device, without numbers.

    Raises:
        HomogenizationError: its class refuses the configuration, or it has not one residual stream.
    """
    refuse_several_streams(config)
    with failure(f"{config.name_or_path}: no network can be made of its config.json"), torch.device("meta"):
        return AutoModel.from_config(config, trust_remote_code=False)


def is_causal(network: PreTrainedModel) -> bool:
    """Whether a token attends to earlier ones and itself alone, as the attention modules tell.

    Where none does (BLOOM, DeBERTa), a network that transformers has as a causal language model is one.
    """
    flags = [module.is_causal for module in network.modules() if hasattr(module, "is_causal")]
    return all(flags) if flags else type(network.config) in MODEL_FOR_CAUSAL_LM_MAPPING


def load_network(
    auto_class: Any, folder: Path, dtype: str, *, head_optional: bool = False, **options: Any
) -> PreTrainedModel:
    """The network in `folder`, in the dtype of this name, with its head if `auto_class` is AutoModelForCausalLM.

    With `head_optional`, a network whose files lack its head alone is given without it. `options` are further arguments
    of `from_pretrained`; with `config`, the network may have fewer blocks than its files.

    Raises:
        HomogenizationError: files are damaged, lack parameters of config.json, or do not fit the device.
    """
    # on a GPU, cuDNN's attention makes a plan for each new length of a text, which takes longer than the pass
    torch.backends.cuda.enable_cudnn_sdp(False)
    options = {"config": load_config(folder), **options, "use_safetensors": True, "trust_remote_code": False}
    with failure(f"{folder}: the weights can't be loaded in {dtype}"):
        network, loading = auto_class.from_pretrained(
            folder, dtype=getattr(torch, dtype), output_loading_info=True, **options
        )
    # a pooler follows the last block, and no state depends on it
    missing = sorted(name for name in loading["missing_keys"] if not name.startswith("pooler."))
    base = base_of(network)
    inside = next(f"{name}." for name, module in network.named_modules() if module is base)
    if missing and head_optional and base is not network and not any(name.startswith(inside) for name in missing):
        return base
    if missing:
        raise HomogenizationError(
            f"{folder}: the safetensors lack {len(missing)} tensors of {type(network).__name__}, such as "
            f"{', '.join(missing[:3])}; they would be random. Take files that hold the whole model."
        )
    return network


def context_of(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """The model's context, the most tokens of a text: its positions or, without any, the tokenizer's own limit.

    At most 10^9. Where rotary positions change with the length of a text (longrope, dynamic), the context ends where
    they begin to.
    """
    fields = config.get_text_config()
    positions = getattr(fields, "max_position_embeddings", None)
    if positions is None or positions <= 0:
        return min(tokenizer.model_max_length, 10**9)  # a tokenizer without a limit gives an immense number
    if rope := getattr(fields, "rope_parameters", None):
        for parameters in (rope, *(nested for nested in rope.values() if isinstance(nested, dict))):
            if parameters.get("rope_type") in ("longrope", "dynamic"):
                positions = min(positions, parameters.get("original_max_position_embeddings") or positions)
        return positions
    # in RoBERTa's family, a text begins behind the position of padding
    embeddings = [module for name, module in skeleton(config).named_modules() if name.endswith("position_embeddings")]
    padding = next((getattr(module, "padding_idx", None) for module in embeddings), None)
    return positions if padding is None else positions - padding - 1
