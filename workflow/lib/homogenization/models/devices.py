"""Devices for a network's weights: the CPU, one device, or several GPUs among which accelerate shares the blocks."""

import os
from pathlib import Path
from typing import Any

import torch

from homogenization.run.errors import HomogenizationError

_DRIVER = Path("/proc/driver/nvidia/version")


def placement(device: str, gpus: int) -> dict[str, Any]:
    """Arguments of `from_pretrained` that load weights straight to where they are used; empty for the CPU.

    Of several `gpus`, each holds some of the blocks; `device` is `auto` (CUDA, then MPS, then CPU) or a name.

    Raises:
        HomogenizationError: this machine has no such device, torch can't use its GPU, or the job sees fewer GPUs.
    """
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    if device in ("auto", "cuda") and not present["cuda"] and not hidden and _DRIVER.exists():
        raise HomogenizationError(
            f"device: {device!r} finds a GPU that torch {torch.__version__} can't use; its driver is "
            f"{_DRIVER.read_text().splitlines()[0]}. Install the torch for it (docs/cluster.md), or set device: cpu."
        )
    if gpus > 1:
        if torch.cuda.device_count() < gpus:
            raise HomogenizationError(f"gpu: {gpus} asked for, and this job sees {torch.cuda.device_count()}.")
        return {"device_map": "auto"}
    available = [name for name in present if present[name]]
    chosen = available[0] if device == "auto" else device
    if chosen not in available:
        raise HomogenizationError(f"device: {device!r} is not here; allowed: auto, {', '.join(available)}.")
    return {} if chosen == "cpu" else {"device_map": {"": torch.device(chosen, 0)}}
