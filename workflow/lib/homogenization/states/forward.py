"""One text, one pass: the residual stream, attention, the logits, and the points of blocks that a caller taps.

Attention is transformers' own, mask included: one function, registered with its `AttentionInterface`, computes what
eager attention does and hands the weights to a `watch` on their way to the values.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from homogenization.models.blocks import after_module, before_module, unsupported
from homogenization.models.network import LanguageModel
from homogenization.run.errors import HomogenizationError

_WATCHED = "watched"
_STREAM, _LAST = (-1, "stream"), (-1, "last")  # among points of blocks
# arguments that leave the weights of attention as they are: queries and keys hold positions, and the mask its window
_WITHOUT_EFFECT = frozenset({"position_ids", "deterministic", "sliding_window"})


@dataclass(frozen=True)
class Attention:
    """The attention of one block over one text, between the softmax and the values.

    Attributes:
        block: index of the block, from 0.
        weights: (heads, queries, keys), float32 (float64 in a float64 model); rows sum to 1, or to less where the
            block has learned sinks.
        seen: (queries, keys) bool: whether a query may see a key.
    """

    block: int
    weights: Tensor
    seen: Tensor


Watch = Callable[[Attention], Tensor]


@dataclass(frozen=True)
class Pass:
    """What a pass over one text of n tokens gives; `received`, `uniform`, `first` are None where attention is hidden.

    Attributes:
        states: the residual stream (n, width) before the first block and after each block, in the model's dtype.
        last: (n, width) states after the final norm; after the last block, where no norm follows it.
        logits: (n, vocabulary) of the next token; None without a language-model head, or where it was not asked for.
        received: attention that each token receives, c_j = sum over the queries i of A_ij, mean over the heads: float32
            (blocks, n).
        uniform: the same if every query attended equally to all keys that the block's mask lets it see: float64
            (blocks, n); float32 on MPS.
        first: mean attention of all queries to the first token, float32 (blocks, heads).
        taps: (n, width) by block, from 0, and name of the tap.
    """

    states: list[Tensor]
    last: Tensor
    logits: Tensor | None
    received: Tensor | None
    uniform: Tensor | None
    first: Tensor | None
    taps: dict[tuple[int, str], Tensor]


@dataclass
class _Record:
    """What attention does in one pass: by block, `received`, `uniform` and `first`."""

    architecture: str
    block_of: Mapping[int, int]  # by the identity of modules
    watch: Watch | None
    blocks: dict[int, tuple[Tensor, Tensor, Tensor]] = field(default_factory=dict)


def _attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    record: _Record,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Eager attention of one block over one text, with the arguments of transformers' `AttentionInterface`.

    `query` is (1, heads, n, head width); `key` and `value` have as many heads or a divisor of them; `attention_mask`,
    (1, 1, n, n), is added to the scores; `softcap` bounds the scores (Gemma 2); `s_aux` are learned sinks (heads,)
    (gpt-oss): one more column of the softmax, which no value belongs to. `others` are refused unless they are None,
    False or without effect on the weights.

    Returns:
        The output (1, n, heads, value width), and None in place of the weights.
    """
    block, n = record.block_of.get(id(module)), query.shape[2]
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    for name, argument in {**others, "dropout": dropout or None}.items():
        if name not in _WITHOUT_EFFECT and argument is not None and argument is not False:
            raise unsupported(record.architecture, f"its attention takes {name!r}, which is not known here")
    if block is None or block in record.blocks or key.shape[2] != n:
        raise unsupported(record.architecture, "it attends outside of its blocks, twice in one, or beyond the text")
    if causal and attention_mask is None:
        raise unsupported(record.architecture, "its attention is causal and has no mask")
    groups = query.shape[1] // key.shape[1]
    key, value = (states.repeat_interleave(groups, dim=1) if groups > 1 else states for states in (key, value))
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if attention_mask is not None:
        scores = scores + attention_mask
    weights, seen = _softmax(scores, s_aux)[0], _seen(attention_mask, n, query.device)
    if record.watch is not None:
        weights = record.watch(Attention(block, weights, seen))
    equal = seen.to(torch.float32 if seen.device.type == "mps" else torch.float64)
    uniform = (equal / equal.sum(1, keepdim=True)).sum(0)
    record.blocks[block] = weights.sum(1).mean(0).float(), uniform, weights[:, :, 0].mean(1).float()
    return (weights[None].to(value.dtype) @ value).transpose(1, 2).contiguous(), None


def _seen(mask: Tensor | None, n: int, device: torch.device) -> Tensor:
    """(queries, keys) bool: whether a query sees a key, by what is added to the scores, (1, 1, n, n)."""
    if mask is None:
        return torch.ones(n, n, dtype=torch.bool, device=device)
    return (mask[0, 0] > torch.finfo(mask.dtype).min / 2).expand(n, n)  # LayoutLM's has one row for all queries


def _softmax(scores: Tensor, sinks: Tensor | None) -> Tensor:
    """Weights of scores (1, heads, n, n), in float32 or wider; learned sinks (heads,) take their share and leave."""
    dtype = torch.promote_types(scores.dtype, torch.float32)
    if sinks is None:
        return scores.softmax(-1, dtype=dtype)
    column = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    with_sinks = torch.cat([scores, column.to(scores.dtype)], dim=-1)
    return (with_sinks - with_sinks.amax(-1, keepdim=True)).softmax(-1, dtype=dtype)[..., :-1]


AttentionMaskInterface.register(_WATCHED, eager_mask)


@torch.inference_mode()
def forward(
    model: LanguageModel,
    token_ids: Sequence[int],
    *,
    watch: Watch | None = None,
    taps: Mapping[str, tuple[str, str]] | None = None,
    positions: Sequence[int] | None = None,
    head: bool = True,
) -> Pass:
    """Run `model` over one text.

    Args:
        model: model to run.
        token_ids: (n,).
        watch: function that the attention of each block passes through; it returns the weights that weigh the values.
        taps: name -> path of a module inside each block ("" is the block), and its `input` or `output`.
        positions: position ids, (n,); None to count from 0.
        head: whether to compute the logits, of a model that has a language-model head.

    Raises:
        HomogenizationError: the architecture can't be honoured, or `watch` would see no attention.
    """
    block_of = {id(module): number for number, block in enumerate(model.blocks) for module in block.modules()}
    record = _Record(model.architecture, block_of, watch)
    AttentionInterface.register(_WATCHED, partial(_attend, record=record))
    if not getattr(model.base, "_watched", False):
        model.base.set_attn_implementation(_WATCHED)  # without effect where the class does not use the interface
        model.base._watched = True
    ids = torch.as_tensor(token_ids, device=model.device)[None]
    placed = {} if positions is None else {"position_ids": torch.as_tensor(positions, device=model.device)[None]}
    run = model.network if head else model.base
    with _memory_told(ids.shape[1], model.device), _tapped(model, taps or {}) as points:
        # without a mask of ones, transformers takes equal positions for several texts and draws borders
        output = run(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **placed)
    stream, last = points.pop(_STREAM), points.pop(_LAST)[0]
    if len(stream) != model.n_blocks + 1 or stream[-1].shape != last.shape:
        raise unsupported(model.architecture, "its residual stream does not pass once through each block")
    measured = len(record.blocks) == model.n_blocks
    if watch is not None and not measured:
        raise HomogenizationError(
            f"{model.architecture}: its attention can't be changed, since it does not pass through transformers' "
            "AttentionInterface. Its states can be measured; leave it out of 'interventions.models'."
        )
    received = uniform = first = None
    if measured:
        by_block = zip(*(record.blocks[block] for block in range(model.n_blocks)), strict=True)
        received, uniform, first = (torch.stack([of.to(model.device) for of in blocks]) for blocks in by_block)
    return Pass(
        states=stream,
        last=last,
        logits=output.logits[0] if head and model.has_head else None,
        received=received,
        uniform=uniform,
        first=first,
        taps={place: states[0] for place, states in points.items()},
    )


@contextmanager
def _tapped(model: LanguageModel, taps: Mapping[str, tuple[str, str]]) -> Iterator[dict[tuple[int, str], list[Tensor]]]:
    """Collect states (n, width) in a pass: of the stream, after the final norm, and by block and name of the taps."""
    points: dict[tuple[int, str], list[Tensor]] = defaultdict(list)

    def take(place: tuple[int, str]) -> Callable[[Tensor], None]:
        return lambda states: points[place].append(states[0].clone())

    side = {"input": before_module, "output": after_module}
    with ExitStack() as hooks:
        hooks.callback(before_module(model.blocks[0], take(_STREAM)).remove)
        for number, block in enumerate(model.blocks):
            hooks.callback(after_module(block, take(_STREAM)).remove)
            for name, (path, end) in taps.items():
                hooks.callback(side[end](block.get_submodule(path), take((number, name))).remove)
        # a head may call the decoder within the base model (OPT)
        decoder = model.base.get_decoder()
        hooks.callback(decoder.register_forward_hook(lambda _module, _inputs, output: take(_LAST)(output[0])).remove)
        yield points


@contextmanager
def _memory_told(n_tokens: int, device: torch.device) -> Iterator[None]:
    """Say what to do where a text does not fit into the memory of a GPU."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "CUBLAS_STATUS_ALLOC_FAILED" not in str(error):
            raise
        raise HomogenizationError(
            f"a text of {n_tokens} tokens does not fit into the memory of {device}. Run the model in bfloat16 (dtype), "
            "read shorter texts (corpus.max_words), or give it more GPUs (gpu)."
        ) from error


def refuse_not_finite(states: Tensor, where: str) -> None:
    """Raise a HomogenizationError, which begins with `where`, unless all `states` are finite."""
    if not torch.stack(torch.aminmax(states)).isfinite().all():
        raise HomogenizationError(
            f"{where}: states that are not finite. Run the model, and store its states, in bfloat16 or float32 "
            "('dtype' of both), whose range is wider than float16's; if they are already, its weights are damaged."
        )
