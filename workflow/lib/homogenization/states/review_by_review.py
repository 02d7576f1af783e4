"""For passes on the CPU: functions whose rounding depends on the size of a tensor get one review at a time.

Libraries choose the kernel of a matrix product, and how threads share it, by the number of rows: on some processors a
text of 150 tokens gives other last bits alone than together with other texts. Vector registers take 16 or 32 numbers at
once; other instructions compute the rest at the end of a tensor, or of a thread's part, and their exponential may
differ in the last bit. So here each review of a pack becomes a tensor of its own, with the size and alignment that it
has in a pass without other reviews.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ALIGNMENT = 64  # bytes, of each tensor that torch allocates in main memory

_ELEMENTWISE = ("silu", "gelu", "mish", "softplus", "tanh", "sigmoid", "exp", "erf", "sin", "cos")
# function -> (position of the argument with the tokens, dimension of the tokens in it)
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
        lengths: number of tokens of each review of the pack.
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
    """`part` with the alignment of a new tensor, since the choice of a kernel may depend on it."""
    return part if part.data_ptr() % ALIGNMENT == 0 else part.clone()
