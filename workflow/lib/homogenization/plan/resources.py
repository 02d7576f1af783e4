"""GPUs, memory and run time that jobs ask for, by their entries of the configuration.

No model is loaded. Every parse of the Snakefile imports it, so it imports nothing heavy. The estimates are generous: a
job that asks for too much waits a little longer, a job that asks for too little is killed and starts again.
"""

import math
from typing import Any

from homogenization.models.dtypes import BYTES
from homogenization.plan.sizes import billions_of_parameters

_UNKNOWN_ON_GPU, _UNKNOWN_ON_CPU = 8.0, 0.1  # billions
_TOKENS_A_REVIEW = 500
_LEAST_MINUTES = 120
_LEAST_GB = 4
_NUMBERS = 40_000  # of a token at all points, for a billion parameters
_CHUNK_TOKENS = 4096
_WEIGHTS_FILE = 5.0  # GB; the largest file that transformers writes


def gpus(entry: Any) -> int:
    """GPUs that a job of a model or writer asks for: none on the CPU, and none for an endpoint."""
    return entry.gpus if _runs_here(entry) and entry.device in ("auto", "cuda") else 0


def encoder_gpus(similarity: Any) -> int:
    """GPUs that a job of BERTScore asks for.

    Args:
        similarity: The section `similarity` of the configuration: `device`.
    """
    return int(similarity.device in ("auto", "cuda"))


def extraction_memory(model: Any, attempt: int) -> int:
    """Host memory of an extraction in MB.

    On the CPU: 1.5 GB for Python, its libraries and a pass; the weights once; a chunk of 4,096 tokens at all points.
    The weights are the pages of their files, which are mapped. A limit could take these pages away, and each pass would
    then read them from the disk again; so they are asked for. On a GPU, where the weights go: 6 GB, because CUDA's
    libraries lie in host memory too; a file of weights of 5 GB; two chunks at all points, of which one is written.

    Args:
        model: An entry of `models`: `weights`, `billions`, `dtype` (as it is run) and `device`.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    chunks = (2 if _on_gpu(model) else 1) * _CHUNK_TOKENS * _numbers_of_a_token(model) * BYTES[model.dtype] / 1e9
    return _memory(model, chunks, attempt)


def store_size(model: Any, stored_as: str, n_reviews: int) -> int:
    """Size of a store in MB: 500 tokens of each review, and for each the numbers of all points.

    Args:
        model: An entry of `models`: `weights`, `billions`, `dtype` (as it is run) and `device`.
        stored_as: dtype of the states, or `auto` for the model's own.
        n_reviews: Reviews of the job.
    """
    size = BYTES[model.dtype if stored_as == "auto" else stored_as]
    return math.ceil(n_reviews * _TOKENS_A_REVIEW * _numbers_of_a_token(model) * size / 1e6)


def store_resource(model: Any, states: Any, n_reviews: int, limit: int | None) -> int:
    """What a store that is deleted takes of the resource `store_mb`: at most all of it, so that one can be made.

    Args:
        model: An entry of `models`.
        states: The section `states`; a store that is kept takes nothing.
        n_reviews: Reviews of the job.
        limit: All of the resource; None for no limit.
    """
    size = 0 if states.keep else store_size(model, states.dtype, n_reviews)
    return size if limit is None else min(size, limit)


def _numbers_of_a_token(model: Any) -> float:
    """About the stored numbers of a token: points x width, which grow as billions of parameters to the power 2/3."""
    return _NUMBERS * max(_billions(model), 0.01) ** (2 / 3)


def intervention_memory(model: Any, attempt: int) -> int:
    """Host memory of interventions in MB: that of an extraction, 3 GB for logits and maps, the network in float64.

    On a GPU, the network in float64 lies there.

    Args:
        model: An entry of `models`: `weights`, `billions`, `dtype` (as it is run) and `device`.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    in_float64 = 0.0 if _on_gpu(model) else 8 * _billions(model)
    return extraction_memory(model, attempt) + math.ceil(3 + in_float64) * 1000 * attempt


def extraction_runtime(model: Any, n_reviews: int, attempt: int) -> int:
    """Run time of an extraction in minutes: twice the estimate, at least two hours.

    The estimate: weights at 50 MB/s, as from the hub or a busy file system; two operations for each parameter and
    token, 500 tokens of each review, at 20 GFLOP/s on a core and 2 TFLOP/s on a GPU. A GPU is faster than that, but not
    the disk that takes the states.

    Args:
        model: An entry of `models`: `weights`, `billions` and `device`.
        n_reviews: Reviews of the job.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    computing = 2e9 * _billions(model) * _TOKENS_A_REVIEW * n_reviews / (2e12 if _on_gpu(model) else 2e10)
    return _minutes(_loading_seconds(_billions(model)) + computing, attempt)


def measuring_memory(model: Any, n_drawn: int, attempt: int) -> int:
    """Host memory in MB of a model whose states are measured while it reads: that of an extraction, and held states.

    These are 4 GB of pooled tokens or, beside a GPU, of their matrices on the way to processes; the tokens drawn for
    MAUVE, in two halves; and 2 GB for what was found in reviews. The states of a token have about P^(2/3) / 20 numbers
    for P parameters.

    Args:
        model: An entry of `models`: `weights`, `billions`, `dtype` (as it is run) and `device`.
        n_drawn: Tokens of a half, times the draws.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    numbers = (1e9 * _billions(model)) ** (2 / 3) / 20
    return (
        extraction_memory(model, attempt)
        + math.ceil(6 + 2e-9 * n_drawn * numbers * BYTES[model.dtype]) * 1000 * attempt
    )


def measuring_runtime(model: Any, n_reviews: int, attempt: int) -> int:
    """Run time in minutes of a model whose states are measured while it reads: that of an extraction, and four hours.

    The measures take the longer, the more layers a model has and the fewer processes measure. Four hours is what each
    of them may take over a store.

    Args:
        model: An entry of `models`: `weights`, `billions` and `device`.
        n_reviews: Reviews of the job.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    return extraction_runtime(model, n_reviews, attempt) + 240 * attempt


def training_memory(model: Any, attempt: int) -> int:
    """Host memory of training in MB: that of an extraction, and 16 bytes for each trained parameter.

    These are the parameter in float32, its gradient and two moments. Low-rank updates have few parameters, but their
    base may be in float32; both ask for the same. Activations and logits of a step take up to 4 GB.

    Args:
        model: An entry of `models` whose weights are trained: `weights`, `billions`, `dtype` and `device`.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    return extraction_memory(model, attempt) + math.ceil(4 + 16 * _billions(model)) * 1000 * attempt


def training_runtime(model: Any, attempt: int) -> int:
    """Run time of training in minutes: twice the estimate, at least two hours.

    The estimate: six operations for each parameter and token, at 20 TFLOP/s on a GPU and 20 GFLOP/s on a core.

    Args:
        model: An entry of `models` whose weights are trained: `weights`, `billions` and `device`.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    options = model.weights.options
    n_tokens = options.steps * options.batch_size * options.max_tokens
    computing = 6e9 * _billions(model) * n_tokens / (2e13 if _on_gpu(model) else 2e10)
    return _minutes(_loading_seconds(_billions(model)) + computing, attempt)


def writer_memory(writer: Any, attempt: int) -> int:
    """Host memory in MB of a job in which a language model writes: as for an extraction, without chunk buffers.

    On the CPU, keys and values of 64 texts being written take 1.5 GB per billion parameters: what texts of 2,000 tokens
    need for 7 billion parameters (56 kB per token in bfloat16 where key heads are shared), and half as much again. A
    job that waits for an endpoint takes 4 GB.

    Args:
        writer: An entry of `writers`; one that runs in the job has `weights`, `billions`, `dtype` and `device`.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    if not _runs_here(writer):
        return 4000 * attempt
    keys_and_values = 0.0 if _on_gpu(writer) else 1.5 * _billions(writer) * math.ceil(writer.batch_size / 64)
    return _memory(writer, keys_and_values, attempt)


def writer_runtime(writer: Any, n_reviews: int, candidates: int, attempt: int) -> int:
    """Run time in minutes of a job in which a language model writes: twice the estimate; 240 to wait for an endpoint.

    The estimate gives every text its largest length. A step adds a token to each text of a batch. On a GPU it takes
    40 ms, and 10 ms per billion parameters to read the weights; on a core it takes one second per billion parameters,
    or the time of the batch's operations at 20 GFLOP/s where that is longer.

    Args:
        writer: An entry of `writers`; one that runs in the job has `weights`, `billions`, `device`, `batch_size`
            and `max_new_tokens`.
        n_reviews: Reviews of the job.
        candidates: Largest number of texts for each review.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    if not _runs_here(writer):
        return 240 * attempt
    billions = _billions(writer)
    step = 0.04 + (0.01 * billions if _on_gpu(writer) else billions * max(1.0, 0.1 * writer.batch_size))
    steps = math.ceil(n_reviews / writer.batch_size) * candidates * writer.max_new_tokens
    return _minutes(_loading_seconds(billions) + steps * step, attempt)


def conversion_memory(weights: Any, billions: float | None, attempt: int) -> int:
    """Memory in MB of the conversion of a GGUF file.

    2 GB for Python, its libraries, the file's header and the largest tensor twice, which a vocabulary of 262,144 tokens
    takes; 5 GB per billion parameters: float32, and the file, which is mapped.

    Args:
        weights: An entry of `weights` with `gguf`.
        billions: Billions of parameters, where the configuration gives them.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    return math.ceil(20 + 50 * _gguf_billions(weights, billions)) * 100 * attempt


def conversion_runtime(weights: Any, billions: float | None, attempt: int) -> int:
    """Run time in minutes of the conversion of a GGUF file: twice the time to read and write float32 at 50 MB/s each.

    Args:
        weights: An entry of `weights` with `gguf`.
        billions: Billions of parameters, where the configuration gives them.
        attempt: Number of the attempt, from 1; the result is multiplied by it.
    """
    return _minutes(2 * _loading_seconds(_gguf_billions(weights, billions)), attempt)


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


def _memory(entry: Any, beside: float, attempt: int) -> int:
    """MB, in whole GB: a job's own memory, the pages of its weights, and `beside` GB."""
    weights = _billions(entry) * BYTES[entry.dtype]
    # the memory of an Apple GPU is that of its host
    own = 6.0 + min(weights, _WEIGHTS_FILE) if _on_gpu(entry) and entry.device != "mps" else 1.5 + weights
    return max(math.ceil(own + beside), _LEAST_GB) * 1000 * attempt


def _loading_seconds(billions: float) -> float:
    return billions * 4 / 0.05


def _minutes(seconds: float, attempt: int) -> int:
    """Minutes for twice `seconds`, in tens, at least two hours; multiplied by `attempt`."""
    return max(_LEAST_MINUTES, math.ceil(2 * seconds / 600) * 10) * attempt
