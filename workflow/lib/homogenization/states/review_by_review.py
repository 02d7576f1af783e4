"""One review at a time through the functions whose rounding depends on the size of a tensor; for passes on the CPU.

Libraries choose the kernel of a matrix product, and how threads share it, by the number of rows: on some processors a
text of 150 tokens alone and the same text among others differ in the last bits. Vector registers take 16 or 32 numbers
at once; what remains at the end of a tensor, or of a thread's part, goes another way, whose exponential may differ in
the last bit. So each review of a pack is a tensor of its own here, of the size and alignment that it has alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ALIGNMENT = 64  # bytes; where torch begins each tensor in main memory

_ELEMENTWISE = ("silu", "gelu", "mish", "softplus", "tanh", "sigmoid", "exp", "erf", "sin", "cos")
# the argument that holds the tokens, and its dimension that counts them
_TOKENS: dict[Callable, tuple[int, int]] = {
    **{
        function: (0, 1)
        for owner in (torch, torch.Tensor, torch.nn.functional, torch._C._nn)
        for name in (*_ELEMENTWISE, "linear")
        if (function := getattr(owner, name, None)) is not None
    },
    torch.addmm: (1, 0),  # the linear layers of GPT-2
}


class ReviewByReview(TorchFunctionMode):
    """A context in which linear layers and elementwise functions see the reviews of a pack one at a time.

    Args:
        lengths: tokens of each review of the pack.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        super().__init__()
        self._lengths = list(lengths)
        self._n_tokens = sum(lengths)

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        argument, dimension = _TOKENS.get(function, (0, 0))
        if function not in _TOKENS or len(args) <= argument or not self._is_pack(args[argument], dimension):
            return function(*args, **kwargs)
        before, after = args[:argument], args[argument + 1 :]
        parts = args[argument].split(self._lengths, dim=dimension)
        return torch.cat([function(*before, _aligned(part), *after, **kwargs) for part in parts], dim=dimension)

    def _is_pack(self, tensor: torch.Tensor, dimension: int) -> bool:
        """Whether `tensor` is (1, tokens, ...), or (tokens, ...) where `dimension` is 0."""
        return tensor.shape[: dimension + 1] == (1,) * dimension + (self._n_tokens,)


def _aligned(part: torch.Tensor) -> torch.Tensor:
    """`part` where a tensor of its own would begin; kernels may choose their way by the alignment too."""
    return part if part.data_ptr() % ALIGNMENT == 0 else part.clone()
