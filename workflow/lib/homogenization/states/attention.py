"""Attention of one text, whose weights are summed up and may be changed on their way to the values.

The function is registered with transformers' `AttentionInterface`; transformers makes the mask. Queries are taken some
at a time.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from homogenization.models.blocks import unsupported

RECORDED = "recorded"
QUERY_CHUNK = 128  # queries at a time: their attention map, heads x 128 x keys, stays in the processor's cache

# Arguments without effect on the attention weights: queries and keys contain the positions already, and determinism
# concerns the backward pass.
_WITHOUT_EFFECT = frozenset({"position_ids", "deterministic"})


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of some queries of a text in one block, between the softmax and the values.

    Attributes:
        block: index of the block, from 0.
        n_tokens: number of tokens of the text.
        first_query: index of the first of these queries among the tokens.
        first_key: index of the first of these keys.
        causal: whether a query sees only its own key and earlier ones.
        weights: (heads, queries, keys), float32 or wider; rows sum to 1, and what a query does not see has 0.
        window: distance in tokens from which a query no longer sees a key; None for no limit within the text.
    """

    block: int
    n_tokens: int
    first_query: int
    first_key: int
    causal: bool
    weights: torch.Tensor
    window: int | None = None


# reads or changes the weights; returns them, or others of the same shape and type, which then weigh the values
Through = Callable[[AttentionMap], torch.Tensor]


@dataclass
class AttentionRecord:
    """What attention does in one forward pass.

    Attributes:
        architecture: name of the network's class, for messages.
        block_of: the block's index for the `id` of each module inside the blocks.
        through: function that all attention weights pass through; what it returns weighs the values and counts as
            attention received. None for the weights as they are.
        received: attention received by block index, float32 (tokens,) on the block's device: c_j = sum over the
            queries i of A_ij, averaged over the heads (Xiao et al. 2023 read sinks off it). It sums to the number of
            tokens.
        attended: attention module by index of the block, for each block that has attended.
        causal: whether that module's attention is causal, by index of the block.
        windows: by index of the block, the distance in tokens from which a query no longer sees a key; None for no
            limit.
    """

    architecture: str
    block_of: Mapping[int, int]
    through: Through | None = None
    received: dict[int, torch.Tensor] = field(default_factory=dict)
    attended: dict[int, torch.nn.Module] = field(default_factory=dict)
    causal: dict[int, bool] = field(default_factory=dict)
    windows: dict[int, int | None] = field(default_factory=dict)

    def enter_block(self, module: torch.nn.Module, causal: bool, window: int | None) -> int:
        """Record that the attention `module` of a block runs, once in a pass, and return the block's index.

        Raises:
            HomogenizationError: the module belongs to no block, or its block has attended already.
        """
        block = self.block_of.get(id(module))
        if block is None:
            raise unsupported(self.architecture, f"{type(module).__name__} attends outside of the model's blocks")
        if block in self.attended:
            raise unsupported(self.architecture, f"block {block + 1} attends more than once")
        self.attended[block], self.causal[block], self.windows[block] = module, causal, window
        return block

    def finish(self, attention: AttentionMap) -> torch.Tensor:
        """The weights (heads, queries, keys) that are given to the values, after they are added to what is received."""
        weights = attention.weights if self.through is None else self.through(attention)
        keys = slice(attention.first_key, attention.first_key + weights.shape[-1])
        self.received[attention.block][keys] += weights.sum(dim=(0, 1)).div_(weights.shape[0])
        return weights

    def all_received(self, device: torch.device) -> torch.Tensor:
        """Attention received in all blocks, float32 (blocks, tokens) on `device`."""
        return torch.stack([self.received[block].to(device) for block in sorted(self.received)])

    def is_causal(self, n_blocks: int) -> bool:
        """Whether attention was causal in all blocks; False if in none.

        Raises:
            HomogenizationError: a block did not attend through this module, or only some blocks are causal.
        """
        silent = sorted(set(range(n_blocks)) - set(self.attended))
        if silent:
            numbers = ", ".join(str(block + 1) for block in silent)
            raise unsupported(self.architecture, f"blocks without attention by transformers' interface: {numbers}")
        if len(set(self.causal.values())) > 1:
            raise unsupported(self.architecture, "some blocks attend causally and some do not")
        return self.causal[0]


_current: ContextVar[AttentionRecord | None] = ContextVar("attention_record", default=None)


@contextmanager
def recording(record: AttentionRecord) -> Iterator[None]:
    """Make a forward pass in the `with` block write its attention into `record`."""
    token = _current.set(record)
    try:
        yield
    finally:
        _current.reset(token)


def recorded_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one block over one text, with the arguments of transformers' `AttentionInterface`.

    The softmax is in float32 (float64 in a float64 model).

    Args:
        module: attention module; its attribute `is_causal` applies if the argument of that name is None.
        query: (1, heads, tokens, head width).
        key: (1, key-value heads, tokens, head width); heads is a multiple of key-value heads.
        value: (1, key-value heads, tokens, value width).
        attention_mask: what is added to the scores, (1, 1, tokens, tokens); None for nothing.
        scaling: factor of the scores, by default 1 / sqrt(head width).
        dropout: 0; other values are refused.
        sliding_window: distance in tokens from which a query no longer sees a key; None for no limit.
        softcap: bound of the scores, softcap * tanh(score / softcap) (Gemma 2); None for no bound.
        is_causal: whether a query sees only its own key and earlier ones.
        others: further arguments, refused unless they are None, False or without effect on the attention weights.

    Returns:
        The output (1, tokens, heads, value width), and None in place of the attention weights.

    Raises:
        HomogenizationError: this function doesn't know an argument or can't honour it; the message names the argument
            and the architecture.
    """
    record = _current.get()
    if record is None:
        raise RuntimeError(f"the attention {RECORDED!r} works inside recording() alone")
    for name, argument in {**others, "dropout": dropout or None}.items():
        if name not in _WITHOUT_EFFECT and argument is not None and argument is not False:
            raise unsupported(record.architecture, f"its attention takes {name!r}, which can't be honoured")
    (_, heads, n, width), key_heads = query.shape, key.shape[1]
    if key.shape[2] != n:
        raise unsupported(record.architecture, "its attention goes beyond the text itself")
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    if causal and attention_mask is None:
        raise unsupported(record.architecture, "its attention is causal and has no mask")
    block = record.enter_block(module, causal, sliding_window)
    record.received[block] = torch.zeros(n, device=query.device)
    window = sliding_window if sliding_window is not None and sliding_window < n else None
    scale = width**-0.5 if scaling is None else scaling
    base = query.new_empty(1, 1, 1)  # not read: beta is 0
    output = query.new_empty(1, n, heads, value.shape[-1])
    for start in range(0, n, QUERY_CHUNK):
        stop = min(start + QUERY_CHUNK, n)
        # the keys that at least one of these queries sees
        first = 0 if window is None else max(0, start - window + 1)
        last = stop if causal else n if window is None else min(n, stop + window - 1)
        # the queries that share a key head are stacked as rows, so that no key is copied
        rows = query[0, :, start:stop].reshape(key_heads, -1, width)
        scores = torch.baddbmm(base, rows, key[0, :, first:last].transpose(1, 2), beta=0, alpha=scale)
        if softcap is not None:
            scores = scores.div_(softcap).tanh_() * softcap
        scores = scores.view(heads, stop - start, last - first)
        if attention_mask is not None:
            scores += attention_mask[0, :, start:stop, first:last]
        weights = torch.softmax(scores, dim=-1, dtype=torch.promote_types(scores.dtype, torch.float32))
        weights = record.finish(AttentionMap(block, n, start, first, causal, weights, window))
        rows = weights.reshape(key_heads, -1, last - first).to(value.dtype)
        attended = torch.bmm(rows, value[0, :, first:last]).view(heads, stop - start, -1)
        output[0, start:stop] = attended.transpose(0, 1)
    return output, None


AttentionInterface.register(RECORDED, recorded_attention)
AttentionMaskInterface.register(RECORDED, eager_mask)
