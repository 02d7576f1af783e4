"""GPUs and memory that jobs ask for, by the files of their weights. Every parse of the Snakefile imports it.

The estimates are generous, and grow with each attempt (`--retries`). A profile sets others: `set-resources`.
"""

import math
from collections.abc import Sequence
from pathlib import Path

_OWN_MB = 2_000  # Python, its libraries and a pass
_CUDA_MB = 5_000  # CUDA's libraries lie in host memory too
# of weights that are no files here: on a CPU, and on a GPU, 8 billion at 16 bits
_UNKNOWN_MB = {False: 2_000, True: 16_000}
_ON_GPU_MB = 5_000  # of the weights that go to a GPU; the largest file that transformers writes
_TOKENS_A_REVIEW = 500
_NUMBERS = 40_000  # of a token at all points, for a billion parameters; they grow as parameters to the power 2/3


def gpus(device: str | None) -> int:
    """GPUs that a job asks for whose model runs on `device`; None: an endpoint runs it."""
    return int(device in ("auto", "cuda"))


def memory(device: str | None, files: Sequence[str], n_reviews: int = 0, times: float = 1.0) -> int:
    """MB of host memory, in whole GB, of a job that runs a model: its own, the weights, and states in float32.

    Of an endpoint, `device` is None. `files` are those of the weights, on this machine; none of a hub or package.
    States of `n_reviews` of 500 tokens are held, and the weights so many `times`.
    """
    if device is None:
        return 4_000
    on_gpu = device not in ("cpu", "mps")
    weights = sum(Path(file).stat().st_size for file in files if not file.endswith(".json")) / 1e6
    weights = weights or _UNKNOWN_MB[on_gpu]
    numbers = n_reviews * _TOKENS_A_REVIEW * _NUMBERS * (weights / 2_000) ** (2 / 3)
    own = _OWN_MB + (_CUDA_MB + min(weights, _ON_GPU_MB) if on_gpu else times * weights)
    return math.ceil((own + 4 * numbers / 1e6) / 1_000) * 1_000
