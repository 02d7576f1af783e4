"""Devices for a network's weights: the CPU, one device, or several GPUs among which accelerate shares the blocks."""

import logging
from typing import Any

import torch
from accelerate.utils import get_max_memory

from homogenization.run.errors import HomogenizationError

logger = logging.getLogger(__name__)


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
        logger.info("device: auto is %s here", available[0])
        return torch.device(available[0])
    if device not in available:
        raise HomogenizationError(
            f"device: {device!r} is not available here; there is {', '.join(available)}. Choose one of these, or auto."
        )
    return torch.device(device)
