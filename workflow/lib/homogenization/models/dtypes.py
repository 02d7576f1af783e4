"""Floating-point formats of weights and states. Every parse of the Snakefile imports this module, and no torch."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16", "float16"]
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


def torch_dtype(name: str) -> "torch.dtype":
    """The dtype of torch with this name, one of `BYTES`."""
    import torch

    return getattr(torch, name)
