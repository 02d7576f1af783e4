"""The components of a transformer block: where its attention, feed-forward network, norms and additions lie.

The points between them bear TransformerLens's names: resid_pre (the stream that enters the block), ln1_out, attn_out,
resid_mid, ln2_out, mlp_out, resid_post. attn_out and mlp_out are what attention and the feed-forward network put out,
in every architecture. The block adds them to the stream; where a norm follows inside the branch (Gemma 2, Gemma 3), it
adds that norm's output, ln1_post_out and ln2_post_out.

To add an architecture, add one entry to `LAYOUTS`. `check_sums` refuses a wrong entry: its sums do not come out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from homogenization.models.blocks import after_module, before_module, hooked
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import Transformer, forward

TakePoint = Callable[[int, str, torch.Tensor], None]
Tap = tuple[str, str]

_CHECKED_TOKENS = 256  # enough to see massive tokens; a pass over them fits wherever the model fits
_ROUNDINGS = 4  # tolerance of each sum, in eps of its dtype; a sum of three terms is rounded twice


@dataclass(frozen=True)
class Layout:
    """The structure of one kind of block.

    Attributes:
        name: name of the kind.
        modules: names of the block's children, without dropouts, which are inactive here.
        points: where each point is read, in the order of the block: a module's path inside the block ("" is the block)
            and `input` or `output`.
        sums: each point that is a sum, with the points that it sums.
        components: the points before and after each component.
        settings: further attributes that the block must have, with their values.
    """

    name: str
    modules: frozenset[str]
    points: Mapping[str, Tap]
    sums: Mapping[str, tuple[str, ...]]
    components: Mapping[str, tuple[str, str]]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, block: torch.nn.Module) -> bool:
        """Whether `block` has exactly these children and settings."""
        children = {name for name, child in block.named_children() if not isinstance(child, torch.nn.Dropout)}
        settings = {name: getattr(block, name, None) for name in self.settings}
        return children == self.modules and settings == dict(self.settings)


def _norm_first(
    name: str, modules: Sequence[str], post_norms: Sequence[str | None] = (None, None), **settings: Any
) -> Layout:
    """A block with a norm before each branch, perhaps one after each, and branches one after the other or parallel.

    Args:
        name: name of the kind.
        modules: names of first norm, attention, second norm and feed-forward network.
        post_norms: names of the norms after attention and feed-forward network.
        settings: further attributes of the block; `use_parallel_residual` says whether its branches are parallel.
    """
    norm_1, attention, norm_2, feed_forward = modules
    parallel = settings.get("use_parallel_residual", False)
    points = {
        "resid_pre": ("", "input"),
        "ln1_out": (norm_1, "output"),
        "attn_out": (attention, "output"),
        "ln1_post_out": (post_norms[0], "output"),
        "resid_mid": (None if parallel else norm_2, "input"),
        "ln2_out": (norm_2, "output"),
        "mlp_out": (feed_forward, "output"),
        "ln2_post_out": (post_norms[1], "output"),
        "resid_post": ("", "output"),
    }
    points = {point: tap for point, tap in points.items() if tap[0] is not None}
    added = ["ln1_post_out" if post_norms[0] else "attn_out", "ln2_post_out" if post_norms[1] else "mlp_out"]
    middle = "resid_pre" if parallel else "resid_mid"
    components = {
        "norm_1": ("resid_pre", "ln1_out"),
        "attention": ("ln1_out", "attn_out"),
        "post_norm_1": ("attn_out", "ln1_post_out"),
        "attention_addition": ("resid_pre", "resid_mid"),
        "norm_2": (middle, "ln2_out"),
        "feed_forward": ("ln2_out", "mlp_out"),
        "post_norm_2": ("mlp_out", "ln2_post_out"),
        "addition" if parallel else "feed_forward_addition": (middle, "resid_post"),
    }
    one_by_one = {"resid_mid": ("resid_pre", added[0]), "resid_post": ("resid_mid", added[1])}
    return Layout(
        name,
        frozenset(path for path, _ in points.values() if path),
        points=points,
        sums={"resid_post": ("resid_pre", *added)} if parallel else one_by_one,
        components={name: ends for name, ends in components.items() if set(ends) <= points.keys()},
        settings=settings,
    )


_LLAMA = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
_GEMMA_2 = ("input_layernorm", "self_attn", "pre_feedforward_layernorm", "mlp")
_GPT_NEOX = ("input_layernorm", "attention", "post_attention_layernorm", "mlp")

LAYOUTS = (
    _norm_first("Llama, Qwen2, Mistral, Gemma", _LLAMA),
    _norm_first("Gemma 2, Gemma 3", _GEMMA_2, ("post_attention_layernorm", "post_feedforward_layernorm")),
    _norm_first("GPT-2", ("ln_1", "attn", "ln_2", "mlp")),
    _norm_first("GPT-NeoX, sequential", _GPT_NEOX, use_parallel_residual=False),
    _norm_first("GPT-NeoX, parallel", _GPT_NEOX, use_parallel_residual=True),
    # each norm follows an addition, and the output of the block is normed
    Layout(
        "BERT",
        frozenset(("attention", "intermediate", "output")),
        points={
            "resid_pre": ("", "input"),
            "attn_out": ("attention.output.dense", "output"),
            "resid_mid": ("attention.output.LayerNorm", "input"),
            "ln1_out": ("attention.output.LayerNorm", "output"),
            "mlp_out": ("output.dense", "output"),
            "resid_post": ("output.LayerNorm", "input"),
            "ln2_out": ("output.LayerNorm", "output"),
        },
        sums={"resid_mid": ("resid_pre", "attn_out"), "resid_post": ("ln1_out", "mlp_out")},
        components={
            "attention": ("resid_pre", "attn_out"),
            "attention_addition": ("resid_pre", "resid_mid"),
            "norm_1": ("resid_mid", "ln1_out"),
            "feed_forward": ("ln1_out", "mlp_out"),
            "feed_forward_addition": ("ln1_out", "resid_post"),
            "norm_2": ("resid_post", "ln2_out"),
        },
    ),
)


def known_layout(model: Transformer) -> Layout | None:
    """The entry of `LAYOUTS` that all blocks of `model` fit; None without one."""
    return next((layout for layout in LAYOUTS if all(layout.fits(block) for block in model.blocks)), None)


def find_layout(model: Transformer) -> Layout:
    """The entry of `LAYOUTS` that all blocks of `model` fit.

    Raises:
        HomogenizationError: there is none.
    """
    if (layout := known_layout(model)) is not None:
        return layout
    kinds = sorted({type(block).__name__ for block in model.blocks})
    children = sorted({name for block in model.blocks for name, _ in block.named_children()})
    raise _refusal(
        model,
        f"its blocks ({', '.join(kinds)}, made of {', '.join(children)}) are of no known layout "
        f"({'; '.join(layout.name for layout in LAYOUTS)})",
    )


def norms_attention(model: Transformer) -> bool:
    """Whether a block passes what its attention puts out through a norm before it adds it to the stream.

    Such a norm (Gemma 2, Gemma 3, OLMo 2) undoes a common factor of the output. It is found in a pass over one token:
    a norm reads what attention puts out, whatever layout the block has. The norm of BERT reads a sum and is none.
    """
    token, found = [0], []
    attending = forward(model, token).attention.attended
    outputs: dict[int, torch.Tensor] = {}

    def reads(block: int) -> Callable:
        def compare(_module: torch.nn.Module, inputs: tuple) -> None:
            if block in outputs and inputs and inputs[0].data_ptr() == outputs[block].data_ptr():
                found.append(block)

        return compare

    hooks = [after_module(module, partial(outputs.__setitem__, block)) for block, module in attending.items()]
    hooks += [
        module.register_forward_pre_hook(reads(number))
        for number, block in enumerate(model.blocks)
        for module in block.modules()
        if "norm" in type(module).__name__.lower()
    ]
    with hooked(hooks):
        forward(model, token)
    return bool(found)


def _refusal(model: Transformer, reason: str) -> HomogenizationError:
    """The error for a model whose components can't be told apart."""
    return HomogenizationError(
        f"{model.architecture}: {reason}, so the components of its blocks can't be told apart. Leave the model out of "
        "components.models, or describe its blocks by an entry of LAYOUTS in homogenization/measures/blocks.py."
    )


@contextmanager
def points_captured(model: Transformer, layout: Layout, take: TakePoint) -> Iterator[None]:
    """Hand every point of every block to `take`: the layer (block 1 is 1), the point, the states (tokens, width).

    `take` must copy what it keeps. Points come in the order in which the network computes them, which can differ from
    the order of the layout.

    Raises:
        HomogenizationError: at the end, if a block passed a point more or less than once.
    """
    passed: dict[tuple[int, str], int] = {}

    def read(layer: int, point: str, states: torch.Tensor) -> None:
        passed[layer, point] = passed.get((layer, point), 0) + 1
        take(layer, point, states[0])

    hook_of = {"input": before_module, "output": after_module}
    hooks = [
        hook_of[side](block.get_submodule(path), partial(read, layer, point))
        for layer, block in enumerate(model.blocks, start=1)
        for point, (path, side) in layout.points.items()
    ]
    with hooked(hooks):
        yield
    for layer in range(1, model.n_blocks + 1):
        for point in layout.points:
            if (times := passed.get((layer, point), 0)) != 1:
                raise _refusal(model, f"block {layer} passes {point} {times} times instead of once")


def check_sums(model: Transformer, layout: Layout, token_ids: Sequence[int]) -> None:
    """Run `model` over a text and compare the points of `layout` that are sums with the sums.

    If a block scales a branch, or adds something else too, its additions would be credited with that. Every number of
    every token is compared, so that a massive number can't hide a difference elsewhere.

    Args:
        model: the transformer.
        layout: layout of its blocks.
        token_ids: tokens of a real text, since random tokens show no massive activations; the first 256 are read.

    Raises:
        HomogenizationError: a sum does not come out within the rounding of the model's dtype.
    """
    eps = torch.finfo(model.network.dtype).eps
    block: dict[str, torch.Tensor] = {}

    def take(layer: int, point: str, states: torch.Tensor) -> None:
        block[point] = states.to("cpu", torch.float64, copy=True)
        if len(block) < len(layout.points):
            return
        for total, terms in layout.sums.items():
            difference = (block[total] - sum(block[term] for term in terms)).abs()
            allowed = _ROUNDINGS * eps * sum(block[term].abs() for term in terms)
            if not (difference <= allowed).all():
                found = (difference.norm() / block[total].norm()).item()
                raise _refusal(
                    model,
                    f"in block {layer}, {total} is not the sum of {' and '.join(terms)} (relative difference "
                    f"{found:.2g}), as it is in the layout {layout.name}",
                )
        block.clear()

    checked = list(token_ids[:_CHECKED_TOKENS])
    with points_captured(model, layout, take):
        forward(model, checked)
