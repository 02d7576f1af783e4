"""Floating-point formats of weights and states: their names, bytes per number, and dtypes of torch.

Parsing the Snakefile imports this module; torch, which takes long to import, is imported only in the function that
needs it.
"""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16", "float16"]
BYTES: dict[str, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


def torch_dtype(name: str) -> "torch.dtype":
    """The dtype of torch with this name, one of `BYTES`."""
    import torch

    return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]
