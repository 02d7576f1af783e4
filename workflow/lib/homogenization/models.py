"""Language models from safetensors: the network, its tokenizer, its context and where it runs."""

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from homogenization.attention import unsupported
from homogenization.errors import HomogenizationError
from homogenization.forward import PackedModel, packed_model
from homogenization.tokenization import opening_token_id
from homogenization.weights import resolve_weights

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "zarr")


@dataclass(frozen=True)
class LanguageModel:
    """A model as it runs.

    Attributes:
        packed: the network, ready for packed passes.
        tokenizer: its (fast) tokenizer.
        max_tokens: tokens of a text beyond which it is truncated, at most the model's context.
        bos: `default` (what the tokenizer does), `always` or `never` a BOS token before a text.
        provenance: weights, revision, architecture, dtype, bos, max_tokens and library versions, for the record.
    """

    packed: PackedModel
    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    bos: str
    provenance: dict[str, Any]


def load_model(entry: Mapping[str, Any]) -> LanguageModel:
    """Load a model entry of the config: safetensors only, no code of the repository's.

    Args:
        entry: `weights` (see `homogenization.weights`), `dtype`, `device` (auto: CUDA, then MPS, then CPU), `bos`,
            `max_tokens` (None: the model's context), and optionally `description` for the provenance.

    Raises:
        HomogenizationError: files that are missing or damaged, an architecture that is unknown or can't be honoured, a
            device that is not there, `max_tokens` above the context, no BOS token where one is wanted.
    """
    # the config names every kind of source and leaves all but one empty
    weights = resolve_weights({key: value for key, value in entry["weights"].items() if value is not None})
    folder = Path(weights.folder)
    device = choose_device(entry["device"])
    config = _load_config(folder)
    if getattr(config, "is_encoder_decoder", False):
        raise unsupported(config.model_type, "an encoder-decoder has two residual streams")
    tokenizer = _load_tokenizer(folder, entry["bos"])
    context = _context(config, tokenizer, folder)
    max_tokens = entry["max_tokens"] or context
    if max_tokens > context:
        raise HomogenizationError(
            f"max_tokens: {max_tokens} is more than the context of {context} tokens of {weights.description}. "
            f"Give at most {context}, or null for the whole context."
        )
    _refuse_rotation_by_length(config, max_tokens)
    packed = packed_model(_load_network(folder, DTYPES[entry["dtype"]]).to(device))
    provenance = {
        "weights": entry.get("description", weights.description),
        "revision": weights.revision,
        "architecture": packed.architecture,
        "dtype": entry["dtype"],
        "bos": entry["bos"],
        "max_tokens": max_tokens,
        "libraries": {library: importlib.metadata.version(library) for library in _LIBRARIES},
    }
    return LanguageModel(packed, tokenizer, max_tokens, entry["bos"], provenance)


def choose_device(device: str) -> torch.device:
    """The torch device for `auto` (CUDA, then MPS, then CPU), `cuda`, `mps` or `cpu`.

    Raises:
        HomogenizationError: this machine, or this build of torch, has no such device.
    """
    available = [
        name
        for name, present in (
            ("cuda", torch.cuda.is_available()),
            ("mps", torch.backends.mps.is_available()),
            ("cpu", True),
        )
        if present
    ]
    if device == "auto":
        return torch.device(available[0])
    if device not in available:
        raise HomogenizationError(
            f"device: {device!r} is not available here; there is {', '.join(available)}. Choose one of these, or auto."
        )
    return torch.device(device)


def _load_config(folder: Path) -> Any:
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise HomogenizationError(
            f"{folder / 'config.json'}: not a configuration that transformers knows ({_first_line(error)}). Models "
            "that bring their own code are not run; choose one whose architecture is part of transformers."
        ) from error


def _load_network(folder: Path, dtype: torch.dtype) -> Any:
    """The base model (no head) in `dtype` on the CPU."""
    try:
        network, loading = AutoModel.from_pretrained(
            folder,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            attn_implementation="eager",
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as error:
        damaged = _damaged_file(folder)
        if damaged is not None:
            raise HomogenizationError(
                f"{damaged[0]}: damaged, not a whole safetensors file ({damaged[1]}). Delete it and fetch it again."
            ) from error
        raise HomogenizationError(f"{folder}: the weights can't be loaded ({_first_line(error)}).") from error
    # a pooler follows the last block and no state depends on it
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise HomogenizationError(
            f"{folder}: the safetensors lack {len(missing)} tensors of {type(network).__name__}, such as {missing[0]}; "
            "they would be random. Fetch the whole model again."
        )
    return network


def _damaged_file(folder: Path) -> tuple[Path, str] | None:
    """The first safetensors file in `folder` whose header or size is wrong, with the reason."""
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt") as tensors:
                tensors.keys()
        except (SafetensorError, OSError) as error:
            return path, _first_line(error)
    return None


def _load_tokenizer(folder: Path, bos: str) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise HomogenizationError(f"{folder}: no tokenizer can be loaded ({_first_line(error)}).") from error
    if not tokenizer.is_fast:
        raise HomogenizationError(
            f"{folder}: the tokenizer {type(tokenizer).__name__} gives no character offsets. Add a tokenizer.json."
        )
    if bos == "always" and opening_token_id(tokenizer) is None:
        raise HomogenizationError(
            f"bos: 'always', but the tokenizer in {folder} has no BOS token. Use default or never."
        )
    return tokenizer


def _context(config: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> int:
    """The longest text, in tokens, that the positions allow; failing that, the tokenizer's own limit."""
    for limit in (getattr(config.get_text_config(), "max_position_embeddings", None), tokenizer.model_max_length):
        if isinstance(limit, int) and 0 < limit < 10**9:  # tokenizers without a limit give an immense number
            return limit
    raise HomogenizationError(f"{folder / 'config.json'}: no context length (max_position_embeddings) is given.")


def _refuse_rotation_by_length(config: Any, max_tokens: int) -> None:
    """Refuse long texts where rotary positions depend on the longest text of a pass: a neighbour would change them."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    for parameters in [rope, *(nested for nested in rope.values() if isinstance(nested, dict))]:
        original = parameters.get("original_max_position_embeddings")
        if parameters.get("rope_type") in ("longrope", "dynamic") and original and max_tokens > original:
            raise HomogenizationError(
                f"max_tokens: {max_tokens} is more than {original}, beyond which the rotary positions of "
                f"{config.model_type} depend on the longest text. Set max_tokens to at most {original}."
            )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
