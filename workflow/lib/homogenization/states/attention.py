"""Attention of reviews packed end to end: each review attends only to itself, and the attention received is summed.

The function is registered with transformers' `AttentionInterface`. No mask function is registered under its name, so
models pass no mask: this module applies causality, sliding windows and the borders between reviews.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from homogenization.models.blocks import unsupported

PACKED_ATTENTION = "packed_reviews"
QUERY_CHUNK = 128  # queries at a time: their attention map, heads x 128 x keys, stays in the processor's cache

# Arguments without effect on the attention weights: queries and keys contain the positions already, and determinism
# concerns the backward pass.
_WITHOUT_EFFECT = frozenset({"position_ids", "deterministic"})


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of some queries of one review in one block, between the softmax and the values.

    Attributes:
        block: index of the block, from 0.
        review: index of the review in the pack.
        n_tokens: number of tokens of the review.
        first_query: index of the first of these queries among the tokens of the review.
        first_key: index of the first of these keys.
        causal: whether a query sees only its own key and earlier ones.
        weights: (heads, queries, keys), float32 or wider; rows sum to 1, and what a query does not see has 0.
        window: distance in tokens from which a query no longer sees a key; None for no limit within the review.
    """

    block: int
    review: int
    n_tokens: int
    first_query: int
    first_key: int
    causal: bool
    weights: torch.Tensor
    window: int | None = None


# reads or changes the weights; returns them, or others of the same shape and type, which then weigh the values
Through = Callable[[AttentionMap], torch.Tensor]


@dataclass
class PackedPass:
    """One forward pass over a pack of reviews: the places of the reviews, and records of the attention.

    Attributes:
        architecture: name of the network's class, for messages.
        block_of: the block's index for the `id` of each module inside the blocks.
        review_offsets: first token of each review, and the number of all tokens.
        received: attention received by block index, float32 (tokens,) on the block's device: c_j = sum over the
            queries i of A_ij, averaged over the heads (Xiao et al. 2023 read sinks off it). It sums to the review's
            length. None if it is not to be recorded.
        through: function that all attention weights pass through; what it returns weighs the values and counts as
            attention received. None for the weights as they are.
        attended: attention module by index of the block, for each block that has attended.
        causal: whether that module's attention is causal, by index of the block.
        windows: by index of the block, the distance in tokens from which a query no longer sees a key; None for no
            limit.
    """

    architecture: str
    block_of: Mapping[int, int]
    review_offsets: list[int]
    received: dict[int, torch.Tensor] | None
    through: Through | None = None
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
        if self.received is not None:
            start = self.review_offsets[attention.review] + attention.first_key
            keys = slice(start, start + weights.shape[-1])
            self.received[attention.block][keys] += weights.sum(dim=(0, 1)).div_(weights.shape[0])
        return weights

    def all_received(self, device: torch.device) -> torch.Tensor | None:
        """Attention received in all blocks, float32 (blocks, tokens) on `device`; None if it was not recorded."""
        if self.received is None:
            return None
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


_current_pass: ContextVar[PackedPass | None] = ContextVar("packed_pass", default=None)


@contextmanager
def attending_to(packed_pass: PackedPass) -> Iterator[None]:
    """Make a forward pass in the `with` block attend within the reviews of `packed_pass` and record its attention."""
    token = _current_pass.set(packed_pass)
    try:
        yield
    finally:
        _current_pass.reset(token)


def packed_attention(
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
    """Attention of one block over a pack of reviews, with the arguments of transformers' `AttentionInterface`.

    Args:
        module: attention module; its attribute `is_causal` applies if the argument of that name is None.
        query: (1, heads, tokens, head width).
        key: (1, key-value heads, tokens, head width); heads is a multiple of key-value heads.
        value: (1, key-value heads, tokens, value width).
        attention_mask: None; a mask is refused.
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
    packed_pass = _current_pass.get()
    if packed_pass is None:
        raise RuntimeError(f"the attention {PACKED_ATTENTION!r} works inside attending_to() alone")
    offsets = packed_pass.review_offsets
    if attention_mask is not None:
        others["attention_mask"] = attention_mask
    if dropout:
        others["dropout"] = dropout
    for name, argument in others.items():
        if name not in _WITHOUT_EFFECT and argument is not None and argument is not False:
            raise unsupported(packed_pass.architecture, f"its attention takes {name!r}, which can't be honoured")
    expected = (1, offsets[-1])
    if (query.shape[0], query.shape[2]) != expected or (key.shape[0], key.shape[2]) != expected:
        raise unsupported(packed_pass.architecture, "its attention goes beyond the text itself")

    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    block = packed_pass.enter_block(module, causal, sliding_window)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    output = query.new_empty(1, offsets[-1], query.shape[1], value.shape[-1])
    if packed_pass.received is not None:
        packed_pass.received[block] = torch.zeros(offsets[-1], device=query.device)
    for review, (start, stop) in enumerate(pairwise(offsets)):
        of_review = [_of_its_own(projected[0, :, start:stop]) for projected in (query, key, value)]
        window = sliding_window if sliding_window is not None and sliding_window < stop - start else None
        if packed_pass.received is None and packed_pass.through is None and window is None and softcap is None:
            output[0, start:stop] = _attend(*of_review, scale, causal)
            continue
        for first_query, first_key, weights in _weights_in_chunks(
            *of_review[:2], _Scoring(scale, causal, window, softcap)
        ):
            attention = AttentionMap(block, review, stop - start, first_query, first_key, causal, weights, window)
            attended = _weigh(packed_pass.finish(attention), of_review[2][:, first_key:])
            output[0, start + first_query : start + first_query + len(attended)] = attended
    return output, None


def _of_its_own(tensor: torch.Tensor) -> torch.Tensor:
    """On the CPU, a contiguous copy: strides and alignment, which may affect rounding, don't depend on the pack."""
    return tensor.clone(memory_format=torch.contiguous_format) if tensor.device.type == "cpu" else tensor


def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, causal: bool) -> torch.Tensor:
    """Attention of one review by torch's fused kernel: (heads, n, width) to (n, heads, value width)."""
    grouped = query.shape[0] != key.shape[0]
    attended = scaled_dot_product_attention(
        query[None], key[None], value[None], is_causal=causal, scale=scale, enable_gqa=grouped
    )
    return attended[0].transpose(0, 1)


class _Scoring(NamedTuple):
    """How a block scores keys; see `packed_attention`."""

    scale: float
    causal: bool
    window: int | None
    softcap: float | None


def _weights_in_chunks(
    query: torch.Tensor, key: torch.Tensor, scoring: _Scoring
) -> Iterator[tuple[int, int, torch.Tensor]]:
    """Attention weights of one review, some queries at a time: first query, first key, (heads, queries, keys).

    A chunk of queries uses only the keys that at least one of them sees. The softmax is in float32 (float64 in a
    float64 model).
    """
    heads, n, width = query.shape
    key_heads, window, softcap = key.shape[0], scoring.window, scoring.softcap
    base = query.new_empty(1, 1, 1)  # not read: beta is 0
    for start in range(0, n, QUERY_CHUNK):
        stop = min(start + QUERY_CHUNK, n)
        first = 0 if window is None else max(0, start - window + 1)
        last = stop if scoring.causal else n if window is None else min(n, stop + window - 1)
        # the queries that share a key head are stacked as rows, so that no key is copied
        rows = query[:, start:stop].reshape(key_heads, -1, width)
        scores = torch.baddbmm(base, rows, key[:, first:last].transpose(1, 2), beta=0, alpha=scoring.scale)
        if softcap is not None:
            scores = scores.div_(softcap).tanh_() * softcap  # the last not in place: a backward pass needs the tanh
        by_head = scores.view(heads, stop - start, last - first)
        if scoring.causal:
            by_head[..., start - first :] += _causal_bias(stop - start, scores.dtype, scores.device)
        if window is not None:
            by_head += _window_bias(range(start, stop), range(first, last), window, scores)
        yield start, first, torch.softmax(by_head, dim=-1, dtype=torch.promote_types(scores.dtype, torch.float32))


def _weigh(weights: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """(queries, heads, value width): the values (key-value heads, keys or more, value width) by weights of queries."""
    heads, n_queries, n_keys = weights.shape
    rows = weights.reshape(len(value), -1, n_keys)
    attended = torch.bmm(rows.to(value.dtype), value[:, :n_keys])
    return attended.view(heads, n_queries, -1).transpose(0, 1)


@lru_cache(maxsize=QUERY_CHUNK)
def _causal_bias(size: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """(size, size): minus infinity above the diagonal, 0 elsewhere."""
    return torch.full((size, size), -torch.inf, dtype=dtype, device=device).triu_(1)


def _window_bias(queries: range, keys: range, window: int, scores: torch.Tensor) -> torch.Tensor:
    """(queries, keys): minus infinity where query and key are `window` tokens or more apart, 0 elsewhere."""
    rows = torch.arange(queries.start, queries.stop, device=scores.device)[:, None]
    columns = torch.arange(keys.start, keys.stop, device=scores.device)
    too_far = (rows - columns).abs() >= window
    return torch.zeros(too_far.shape, dtype=scores.dtype, device=scores.device).masked_fill_(too_far, -torch.inf)


AttentionInterface.register(PACKED_ATTENTION, packed_attention)
