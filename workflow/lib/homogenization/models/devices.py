"""Devices for a network's weights: the CPU, one device, or several GPUs among which accelerate shares the blocks."""

import logging
import os
import re
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import get_max_memory

from homogenization.run.errors import HomogenizationError

logger = logging.getLogger(__name__)

_DEVICE_NODES = Path("/dev")
_DRIVER = Path("/proc/driver/nvidia/version")
# CUDA's major version -> the oldest driver on which its builds run (NVIDIA, CUDA compatibility)
_OLDEST_DRIVERS = {"12": 525, "13": 580}
# of errors that are no torch.OutOfMemoryError: the runtime's own, cuBLAS's and cuDNN's, the CPU's; and of cuBLAS and
# cuSOLVER that find no memory when they start, which they call an internal error or "not initialized"
_OUT_OF_MEMORY = re.compile(
    r"out of memory|STATUS_ALLOC_FAILED|can't allocate memory|(cublas|cusolverDn)Create\(handle\)"
)
_OF_DEVICE = re.compile("CUDA|CUBLAS|CUDNN|CUSOLVER|cuDNN|cuBLAS|HIP error|MPS backend")


def placement(device: str, gpus: int) -> dict[str, Any]:
    """Arguments of `from_pretrained` that load the weights directly to their devices; empty for the CPU.

    Args:
        device: `auto` (CUDA, then MPS, then CPU), `cuda`, `mps` or `cpu`.
        gpus: number of GPUs; if there are several, each holds some of the blocks, and `device` is ignored.

    Raises:
        HomogenizationError: this machine has no such device, or the job sees fewer GPUs.
    """
    if gpus > 1:
        visible = torch.cuda.device_count()
        if visible < gpus:
            raise HomogenizationError(
                f"gpu: {gpus} are to hold the model together, and this job sees {visible}. Ask for fewer, or run it "
                "where there are as many (CUDA_VISIBLE_DEVICES names those that a job sees)."
            )
        memory = get_max_memory()
        return {"device_map": "auto", "max_memory": {name: memory[name] for name in [*range(gpus), "cpu"]}}
    chosen = choose_device(device)
    return {} if chosen.type == "cpu" else {"device_map": {"": torch.device(chosen.type, 0)}}


def choose_device(device: str) -> torch.device:
    """The torch device for `auto` (CUDA, then MPS, then CPU), `cuda`, `mps` or `cpu`.

    Raises:
        HomogenizationError: this machine, or this build of torch, has no such device; or `auto` would take the CPU
            beside a GPU of NVIDIA that torch can't use.
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
    unused = _unused_gpu() if "cuda" not in available else None
    if unused is not None and device in ("auto", "cuda"):
        raise HomogenizationError(f"device: {device!r} finds {unused}")
    if device == "auto":
        logger.info("device: auto is %s here", available[0])
        return torch.device(available[0])
    if device not in available:
        raise HomogenizationError(
            f"device: {device!r} is not available here; there is {', '.join(available)}. Choose one of these, or auto."
        )
    return torch.device(device)


def _unused_gpu() -> str | None:
    """What keeps torch from a GPU of NVIDIA that this process could see, and the cure; None without such a GPU."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if hidden or torch.version.hip is not None or not any(_DEVICE_NODES.glob("nvidia[0-9]*")):
        return None
    found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", _DRIVER.read_text()) if _DRIVER.exists() else None
    driver = found[0] if found else "unknown"
    built = torch.version.cuda
    oldest = _OLDEST_DRIVERS.get((built or "").partition(".")[0])
    if built is None:
        reason = f"torch {torch.__version__} is built without CUDA"
    elif found and oldest and float(driver.split(".")[0]) < oldest:
        reason = f"torch {torch.__version__} is built for CUDA {built}, which needs a driver of at least {oldest}"
    else:
        started = "python -c 'import torch; torch.zeros(1).cuda()'"
        reason = f"CUDA {built} of torch {torch.__version__} does not start on it ({started} says why)"
    return (
        f"a GPU that can't be used: {reason}; the driver is {driver}. Install the build of torch for this driver "
        "(docs/cluster.md#the-build-of-torch), or set device: cpu, or CUDA_VISIBLE_DEVICES= to hide the GPU."
    )


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, in any of the forms of torch, CUDA and its libraries."""
    return isinstance(error, RuntimeError) and (
        isinstance(error, torch.OutOfMemoryError) or _OUT_OF_MEMORY.search(str(error)) is not None
    )


def is_of_device(error: BaseException) -> bool:
    """Whether an error comes from a GPU or its libraries, so that it says nothing about the model."""
    return isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError) or (
        isinstance(error, RuntimeError) and _OF_DEVICE.search(str(error)) is not None
    )
