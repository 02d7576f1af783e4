"""Loading of configuration and network from a folder of safetensors, without code from that folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from homogenization.models.dtypes import torch_dtype
from homogenization.models.folders import checked_folder, fields_of
from homogenization.run.errors import HomogenizationError, first_line


def load_config(folder: Path) -> PreTrainedConfig:
    """The configuration in `folder`.

    Raises:
        HomogenizationError: it is missing or damaged, or transformers does not know the architecture, or refuses a
            field.
    """
    fields_of(folder)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # each configuration class checks its fields in its own way
        reason = " ".join(line.strip() for line in str(error).splitlines()[:2]) or type(error).__name__
        raise HomogenizationError(
            f"{folder / 'config.json'}: not a configuration that transformers knows ({reason}). Correct the field, "
            "if it names one. Models that bring their own code are not run; choose one whose architecture is part of "
            "transformers."
        ) from error
    # how attention is computed, and the form of the output, are the caller's choice and not the file's
    config._attn_implementation, config.return_dict = None, True
    return config


def is_causal(config: PreTrainedConfig) -> bool:
    """Whether the blocks of such a network attend causally; its class on the meta device tells."""
    return all(getattr(module, "is_causal", True) for module in skeleton(config).modules())


def padding_position(network: torch.nn.Module) -> int | None:
    """The position of padding in RoBERTa's family, behind which a text begins; None where it begins at 0."""
    of_positions = [module for name, module in network.named_modules() if name.endswith("position_embeddings")]
    return next((getattr(module, "padding_idx", None) for module in of_positions), None)


def skeleton(config: PreTrainedConfig) -> PreTrainedModel:
    """The network without its head on the meta device, without numbers.

    Raises:
        HomogenizationError: its class refuses the configuration.
    """
    try:
        with torch.device("meta"):
            return AutoModel.from_config(config, trust_remote_code=False)
    except Exception as error:  # each class refuses in its own way
        raise HomogenizationError(
            f"{config.model_type}: no network can be made of its config.json ({first_line(error)}). Correct the file, "
            "or choose a model that transformers' AutoModel reads."
        ) from error


def load_network(
    auto_class: Any,
    folder: Path,
    dtype: str,
    *,
    not_needed: tuple[str, ...] = (),
    remedy: str = "Fetch the whole model again.",
    head_optional: bool = False,
    **options: Any,
) -> PreTrainedModel:
    """The network in `folder`.

    Args:
        auto_class: AutoModel, or AutoModelForCausalLM for a network with its head.
        folder: Folder with config.json and *.safetensors.
        dtype: Name of the parameters' dtype.
        not_needed: Prefixes of the names of parameters that may be absent from the files, and are then random.
        remedy: What to do where other parameters are absent.
        head_optional: Whether a network whose files lack its head alone is given without it.
        options: Further arguments of `from_pretrained`, such as `attn_implementation` and `device_map`; with `config`,
            the network may have fewer blocks than its files.

    Raises:
        HomogenizationError: A file is damaged, or they do not hold all parameters as config.json describes them; or
            the network does not fit the device.
    """
    config = options.pop("config", None)
    checked_folder(folder, str(folder))
    # on a GPU, cuDNN's attention makes a plan for each new length of a text, which takes longer than the pass
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        network, loading = auto_class.from_pretrained(
            folder,
            config=config or load_config(folder),
            dtype=torch_dtype(dtype),
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
    except torch.OutOfMemoryError as error:
        raise HomogenizationError(
            f"{folder}: the weights in {dtype} do not fit into the memory of the GPU. Give the model more GPUs (gpu), "
            "or run it in bfloat16 (dtype)."
        ) from error
    except Exception as error:  # each architecture refuses fields of its configuration in its own way
        raise HomogenizationError(f"{folder}: the weights can't be loaded ({first_line(error)}).") from error
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith(not_needed))
    if missing and head_optional and not any(key.startswith(f"{network.base_model_prefix}.") for key in missing):
        return network.base_model
    if missing:
        raise HomogenizationError(
            f"{folder}: the safetensors lack {len(missing)} tensors of {type(network).__name__}, such as {missing[0]}; "
            f"they would be random. {remedy}"
        )
    return network


def context_of(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase, folder: Path) -> int:
    """`known_context`, for a model in `folder`.

    Raises:
        HomogenizationError: it is not known.
    """
    context = known_context(config, tokenizer)
    if context is None:
        raise HomogenizationError(
            f"{folder / 'config.json'}: no context length (max_position_embeddings) is given. Add it there, or as "
            "model_max_length to tokenizer_config.json."
        )
    return context


def known_context(config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """The model's context in tokens: the number of positions of a text or, if unknown, the tokenizer's own limit."""
    fields = config.get_text_config()
    positions = getattr(fields, "max_position_embeddings", None)
    for limit in (positions, tokenizer.model_max_length):
        if isinstance(limit, int) and 0 < limit < 10**9:  # tokenizers without a limit give an immense number
            learned = limit is positions and not getattr(fields, "rope_parameters", None)
            padding = padding_position(skeleton(config)) if learned else None
            return limit if padding is None else limit - padding - 1
    return None


def checked_max_tokens(
    entry: Mapping[str, Any], config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase, folder: Path
) -> int:
    """The largest number of tokens of a text: `max_tokens` of a model's entry, or else the model's context.

    Raises:
        HomogenizationError: `max_tokens` is above the context or the length that rotary positions allow.
    """
    context = context_of(config, tokenizer, folder)
    max_tokens = entry["max_tokens"] or context
    if max_tokens > context:
        raise HomogenizationError(
            f"max_tokens: {max_tokens} is more than the context of {context} tokens of the model in {folder}. "
            f"Give at most {context}."
        )
    _refuse_rotation_by_length(config, max_tokens)
    return max_tokens


def _refuse_rotation_by_length(config: Any, max_tokens: int) -> None:
    """Refuse long texts if rotary positions depend on the longest text of a pass: other reviews would change them."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    for parameters in [rope, *(nested for nested in rope.values() if isinstance(nested, dict))]:
        original = parameters.get("original_max_position_embeddings")
        if parameters.get("rope_type") in ("longrope", "dynamic") and original and max_tokens > original:
            raise HomogenizationError(
                f"max_tokens: {max_tokens} is more than {original}, beyond which the rotary positions of "
                f"{config.model_type} depend on the longest text. Set max_tokens to at most {original}."
            )
