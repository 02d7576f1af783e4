"""Floating-point formats of weights and states: their names, the bytes of a number, and torch's own name for them.

Imported whenever the Snakefile is parsed, so torch is imported where it is needed alone.
"""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16", "float16"]
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


def torch_dtype(name: str) -> "torch.dtype":
    """Torch's dtype of this name, one of `BYTES`."""
    import torch

    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]
