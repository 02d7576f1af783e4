"""Elementwise functions, one review at a time, where the processor would round them by where they lie in the tensor.

Vector registers take 16 or 32 numbers at once; what remains at the end of a tensor goes another way, whose exponential
may differ in the last bit. With widths that are multiples of 32 nothing remains. With other widths, packed reviews
equal single ones bit for bit only if each review is a tensor of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_VECTOR = 32
_FUNCTIONS = frozenset(
    function
    for owner in (torch, torch.Tensor, torch.nn.functional, torch._C._nn)
    for name in ("silu", "gelu", "mish", "softplus", "tanh", "sigmoid", "exp", "erf", "sin", "cos")
    if (function := getattr(owner, name, None)) is not None
)


def review_by_review(
    parameters: Iterable[torch.Tensor], lengths: Sequence[int]
) -> AbstractContextManager[TorchFunctionMode | None]:
    """A context in which elementwise functions see reviews of these lengths one at a time, where that is needed.

    It is needed on the CPU if a weight matrix has a side that is not a multiple of 32, and with more than one review.

    Args:
        parameters: weight matrices of the blocks, those that work on the CPU.
        lengths: tokens of each review of the pack.
    """
    needed = len(lengths) > 1 and any(side % _VECTOR for matrix in parameters for side in matrix.shape)
    return _ReviewByReview(lengths) if needed else nullcontext()


class _ReviewByReview(TorchFunctionMode):
    def __init__(self, lengths: Sequence[int]) -> None:
        super().__init__()
        self._lengths = list(lengths)
        self._n_tokens = sum(lengths)

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in _FUNCTIONS and args and args[0].shape[:2] == (1, self._n_tokens):
            parts = args[0].split(self._lengths, dim=1)
            return torch.cat([function(part, *args[1:], **kwargs) for part in parts], dim=1)
        return function(*args, **kwargs)
