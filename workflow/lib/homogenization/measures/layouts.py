"""The components of a transformer block: where its attention, feed-forward network, norms and additions lie.

The points between them bear TransformerLens's names: resid_pre (the stream that enters the block), ln1_out, attn_out,
resid_mid, ln2_out, mlp_out, resid_post. The block adds attn_out and mlp_out to the stream or, where a norm follows
inside the branch (Gemma 2, Gemma 3), that norm's output, ln1_post_out and ln2_post_out.

To add an architecture, add one entry to `LAYOUTS`. `check_sums` refuses a wrong entry: its sums do not come out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from homogenization.models.network import LanguageModel
from homogenization.run.errors import HomogenizationError

_ROUNDINGS = 4  # tolerance of each sum, in eps of its dtype; a sum of three terms is rounded twice


@dataclass(frozen=True)
class Layout:
    """The structure of one kind of block.

    Attributes:
        modules: names of the block's children, without dropouts, which are inactive here, and BERT's `intermediate`.
        points: where each point is read, in the order of the block: a module's path inside the block ("" is the block)
            and `input` or `output`.
        sums: each point that is a sum, with the points that it sums.
        components: the points before and after each component.
        parallel: whether the branches read the same stream; None where no such setting exists.
    """

    name: str
    modules: frozenset[str]
    points: Mapping[str, tuple[str, str]]
    sums: Mapping[str, tuple[str, ...]]
    components: Mapping[str, tuple[str, str]]
    parallel: bool | None = None

    def fits(self, block: torch.nn.Module) -> bool:
        """Whether `block` has exactly these children and this setting."""
        children = {name for name, child in block.named_children() if not isinstance(child, torch.nn.Dropout)}
        return (
            children - {"intermediate"} == self.modules
            and getattr(block, "use_parallel_residual", None) == self.parallel
        )


# point, path of the module inside the block ("" is the block), its side, the component that ends there, where it begins
Step = tuple[str, str | None, str, str, str]


def _layout(name: str, steps: Sequence[Step], sums: Mapping[str, tuple[str, ...]], parallel: bool | None) -> Layout:
    """A layout from the points of a block in their order; those without a path are not there."""
    there = [step for step in steps if step[1] is not None]
    points = {point: (path, side) for point, path, side, _, _ in there}
    components = {component: (before, point) for point, _, _, component, before in there if component}
    modules = frozenset(path.split(".")[0] for path, _ in points.values() if path)
    return Layout(name, modules, points, sums, components, parallel)


def _norm_first(
    name: str, modules: Sequence[str], post_norms: Sequence[str | None] = (None, None), parallel: bool | None = None
) -> Layout:
    """A block with a norm before each branch: first norm, attention, second norm, feed-forward; and one after each."""
    norm_1, attention, norm_2, feed_forward = modules
    middle, last = ("resid_pre", "addition") if parallel else ("resid_mid", "feed_forward_addition")
    steps = (
        ("resid_pre", "", "input", "", ""),
        ("ln1_out", norm_1, "output", "norm_1", "resid_pre"),
        ("attn_out", attention, "output", "attention", "ln1_out"),
        ("ln1_post_out", post_norms[0], "output", "post_norm_1", "attn_out"),
        ("resid_mid", None if parallel else norm_2, "input", "attention_addition", "resid_pre"),
        ("ln2_out", norm_2, "output", "norm_2", middle),
        ("mlp_out", feed_forward, "output", "feed_forward", "ln2_out"),
        ("ln2_post_out", post_norms[1], "output", "post_norm_2", "mlp_out"),
        ("resid_post", "", "output", last, middle),
    )
    added = ("ln1_post_out", "ln2_post_out") if post_norms[0] else ("attn_out", "mlp_out")
    one_by_one = {"resid_mid": ("resid_pre", added[0]), "resid_post": ("resid_mid", added[1])}
    return _layout(name, steps, {"resid_post": ("resid_pre", *added)} if parallel else one_by_one, parallel)


_LLAMA = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
_GEMMA_2 = ("input_layernorm", "self_attn", "pre_feedforward_layernorm", "mlp")
_GPT_NEOX = ("input_layernorm", "attention", "post_attention_layernorm", "mlp")
# each norm follows an addition, and the output of the block is normed
_BERT = (
    ("resid_pre", "", "input", "", ""),
    ("attn_out", "attention.output.dense", "output", "attention", "resid_pre"),
    ("resid_mid", "attention.output.LayerNorm", "input", "attention_addition", "resid_pre"),
    ("ln1_out", "attention.output.LayerNorm", "output", "norm_1", "resid_mid"),
    ("mlp_out", "output.dense", "output", "feed_forward", "ln1_out"),
    ("resid_post", "output.LayerNorm", "input", "feed_forward_addition", "ln1_out"),
    ("ln2_out", "output.LayerNorm", "output", "norm_2", "resid_post"),
)

LAYOUTS = (
    _norm_first("Llama, Qwen2, Mistral, Gemma", _LLAMA),
    _norm_first("Gemma 2, Gemma 3", _GEMMA_2, ("post_attention_layernorm", "post_feedforward_layernorm")),
    _norm_first("GPT-2", ("ln_1", "attn", "ln_2", "mlp")),
    _norm_first("GPT-NeoX, sequential", _GPT_NEOX, parallel=False),
    _norm_first("GPT-NeoX, parallel", _GPT_NEOX, parallel=True),
    _layout("BERT", _BERT, {"resid_mid": ("resid_pre", "attn_out"), "resid_post": ("ln1_out", "mlp_out")}, None),
)


def find_layout(model: LanguageModel) -> Layout:
    """The entry of `LAYOUTS` that all blocks of `model` fit.

    Raises:
        HomogenizationError: there is none.
    """
    for layout in LAYOUTS:
        if all(layout.fits(block) for block in model.blocks):
            return layout
    children = sorted({name for block in model.blocks for name, _ in block.named_children()})
    known = "; ".join(layout.name for layout in LAYOUTS)
    raise _refusal(model, f"its blocks, made of {', '.join(children)}, are of no known layout ({known})")


def check_sums(model: LanguageModel, layout: Layout, points: Mapping[tuple[int, str], Tensor]) -> None:
    """Compare the points of a pass that are sums with the sums, number by number: a block may scale a branch.

    Raises:
        HomogenizationError: a sum does not come out within the rounding of the model's dtype.
    """
    for block in range(model.n_blocks):
        for total, terms in layout.sums.items():
            found, *summed = (points[block, point].double() for point in (total, *terms))
            allowed = _ROUNDINGS * torch.finfo(model.network.dtype).eps * sum(term.abs() for term in summed)
            if not ((found - sum(summed)).abs() <= allowed).all():
                raise _refusal(model, f"in block {block + 1}, {total} is not the sum of {' and '.join(terms)}")


def _refusal(model: LanguageModel, reason: str) -> HomogenizationError:
    return HomogenizationError(
        f"{model.architecture}: {reason}, so the components of its blocks can't be told apart. Leave out the model or "
        "the section 'components', or describe its blocks in LAYOUTS of homogenization/measures/layouts.py."
    )
