"""What a job takes of its machine."""

import os
import resource
import sys
import time
from pathlib import Path


def seconds_since_start() -> float | None:
    """Seconds since this process was started, before Python imported anything; None on a system without /proc."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except FileNotFoundError:
        return None
    started = int(fields[19]) / os.sysconf(
        "SC_CLK_TCK"
    )  # after the boot; field 22 of proc(5), the name being the second
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


# libraries that take more than a tenth of a second to import; polars and numpy, which almost every job needs, aside
HEAVY = (
    "accelerate",
    "bert_score",
    "datasets",
    "matplotlib",
    "openai",
    "pandas",
    "pydantic",
    "scipy",
    "scipy.stats",
    "seaborn",
    "sentence_transformers",
    "sklearn",
    "tokenizers",
    "torch",
    "transformers",
    "zarr",
)


def imported_libraries() -> list[str]:
    """Those of `HEAVY` that this process has imported so far."""
    return [name for name in HEAVY if name in sys.modules]


def peak_memory_mb() -> float:
    """Largest resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def peak_device_memory_mb() -> float | None:
    """Largest memory allocated on any one CUDA device so far, in MB; None where none is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return max(torch.cuda.max_memory_allocated(device) for device in range(torch.cuda.device_count())) / 2**20
