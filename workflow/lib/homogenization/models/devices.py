"""Devices for a network's weights: the CPU, one device, or several GPUs among which accelerate shares the blocks."""

import logging
import os
from pathlib import Path
from typing import Any

import torch

from homogenization.run.errors import HomogenizationError

logger = logging.getLogger(__name__)

_DRIVER = Path("/proc/driver/nvidia/version")


def placement(device: str, gpus: int) -> dict[str, Any]:
    """Arguments of `from_pretrained` that load the weights directly to their devices; empty for the CPU.

    Args:
        device: `auto` (CUDA, then MPS, then CPU), `cuda`, `mps` or `cpu`.
        gpus: number of GPUs; if there are several, each that the job sees holds some of the blocks, and `device` is
            ignored.

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
        return {"device_map": "auto"}
    chosen = choose_device(device)
    return {} if chosen.type == "cpu" else {"device_map": {"": torch.device(chosen.type, 0)}}


def choose_device(device: str) -> torch.device:
    """The torch device for `auto` (CUDA, then MPS, then CPU), `cuda`, `mps` or `cpu`.

    Raises:
        HomogenizationError: this machine, or this build of torch, has no such device, or can't use its GPU.
    """
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    available = [name for name in present if present[name]]
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if device in ("auto", "cuda") and not present["cuda"] and not hidden and _DRIVER.exists():
        raise HomogenizationError(
            f"device: {device!r} finds a GPU that torch {torch.__version__} (CUDA {torch.version.cuda}) can't use; its "
            f"driver is {_DRIVER.read_text().splitlines()[0]}. Install the build of torch for this driver "
            "(docs/cluster.md), or set device: cpu, or CUDA_VISIBLE_DEVICES= to hide the GPU."
        )
    if device == "auto":
        logger.info("device: auto is %s here", available[0])
        return torch.device(available[0])
    if device not in available:
        raise HomogenizationError(
            f"device: {device!r} is not available here; there is {', '.join(available)}. Choose one of these, or auto."
        )
    return torch.device(device)
