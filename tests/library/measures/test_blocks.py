"""Components of a block: where they lie, what leads into them, and the refusal of blocks that do not add up."""

import pytest
import torch
import transformers

from homogenization.measures.blocks import (
    LAYOUTS,
    check_sums,
    find_layout,
    points_captured,
)
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import forward, transformer_of
from tiny_blocks import BEHIND, EMBEDDED, LLAMA, MODULES, NETWORKS, POST_NORM, SANDWICH, measure, tiny
from tiny_models import _GROUPED, _SIZE, CONFIGS, network, random_texts

INNER = {  # the modules whose inputs count: norm 1, attention, norm 2, feed-forward
    "BertModel": ("attention.output.LayerNorm", "attention.self", "output.LayerNorm", "intermediate"),
    "GPT2Model": MODULES["GPT2Model"],
    "GPTNeoXModel": MODULES["GPTNeoXModel"],
}


@pytest.mark.parametrize("name", NETWORKS)
def test_components_lead_from_what_goes_in_to_what_comes_out(name):
    model = transformer_of(network(NETWORKS[name]))
    paths = INNER.get(model.architecture, SANDWICH if name in POST_NORM else LLAMA)
    behind = dict(zip(("post_norm_1", "post_norm_2"), BEHIND, strict=True)) if name in POST_NORM else {}
    received, points = {}, {}

    def keep(component):
        def hook(module, positional, named):
            received[component] = (positional[0] if positional else named["hidden_states"])[0].clone()

        return hook

    inner = dict(zip(("norm_1", "attention", "norm_2", "feed_forward"), paths, strict=True))
    for component, path in (inner | behind).items():
        model.blocks[1].get_submodule(path).register_forward_pre_hook(keep(component), with_kwargs=True)
    layout = find_layout(model)
    with points_captured(model, layout, lambda layer, point, states: points.update({(layer, point): states.clone()})):
        forward(model, random_texts([40])[0])
    outputs = {"norm_1": "ln1_out", "attention": "attn_out", "norm_2": "ln2_out", "feed_forward": "mlp_out"}
    outputs |= {"post_norm_1": "ln1_post_out", "post_norm_2": "ln2_post_out"} if behind else {}
    for component, states in received.items():
        before, after = layout.components[component]
        assert torch.equal(points[2, before], states)
        assert after == outputs[component]
    additions = set(layout.components) - set(outputs)
    assert additions == ({"addition"} if name == "gpt_neox" else {"attention_addition", "feed_forward_addition"})
    for addition in additions:
        before, after = layout.components[addition]
        ends = ("ln1_post_out", "ln2_post_out") if behind else ("attn_out", "mlp_out")
        branches = {
            name: [end] for name, end in zip(("attention_addition", "feed_forward_addition"), ends, strict=True)
        }
        added = sum(points[2, point] for point in branches.get(addition, ["attn_out", "mlp_out"]))
        torch.testing.assert_close(points[2, after] - points[2, before], added, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", NETWORKS)
def test_sums_come_out_in_every_precision(name, dtype):
    model = transformer_of(network(NETWORKS[name], dtype))
    check_sums(model, find_layout(model), random_texts([90])[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [0.22, 1.1])
def test_a_block_that_scales_its_branches_is_refused(scale, dtype):
    config = transformers.GraniteConfig(**_GROUPED, residual_multiplier=scale)
    with pytest.raises(
        HomogenizationError, match=r"GraniteModel: in block 1, resid_mid is not the sum of resid_pre and"
    ):
        measure(tiny(config, dtype=dtype), EMBEDDED[:1])
    measure(tiny(transformers.GraniteConfig(**_GROUPED, residual_multiplier=1.0), dtype=dtype), EMBEDDED[:1])


def test_a_block_of_which_one_number_is_off_is_refused():
    model = transformer_of(network(CONFIGS["llama"]))

    def spoil(module, inputs, output):
        changed = output.clone()
        changed[0, 5, 7] += 1e-5
        return changed

    model.blocks[1].register_forward_hook(spoil)
    with pytest.raises(HomogenizationError, match="in block 2, resid_post is not the sum of resid_mid and mlp_out"):
        check_sums(model, find_layout(model), random_texts([60])[0])


def test_unknown_blocks_are_named_with_what_to_do():
    model = tiny(transformers.PhiConfig(**_SIZE))
    with pytest.raises(HomogenizationError, match=r"PhiModel: .*PhiDecoderLayer.*input_layernorm.*Llama.*LAYOUTS"):
        measure(model, EMBEDDED[:1])


def test_blocks_of_two_kinds_are_refused():
    model = transformer_of(network(CONFIGS["gpt_neox"]))
    model.blocks[1].use_parallel_residual = False
    with pytest.raises(HomogenizationError, match="of no known layout"):
        find_layout(model)


def test_each_block_fits_one_layout_alone():
    for name, config in NETWORKS.items():
        block = transformer_of(network(config)).blocks[0]
        assert len([layout for layout in LAYOUTS if layout.fits(block)]) == 1, name


def test_a_point_that_is_passed_twice_or_never_is_refused():
    model = transformer_of(network(CONFIGS["llama"]))
    layout, token_ids = find_layout(model), random_texts([9])[0]
    norm, own = model.blocks[2].input_layernorm, model.blocks[2].forward
    model.blocks[2].forward = lambda *args, **named: (norm(args[0]), own(*args, **named))[1]
    with (
        pytest.raises(HomogenizationError, match="block 3 passes ln1_out 2 times instead of once"),
        points_captured(model, layout, lambda *_: None),
    ):
        forward(model, token_ids)
    model.blocks[2].forward = lambda states, *args, **named: states
    with (
        pytest.raises(HomogenizationError, match="block 3 passes ln1_out 0 times instead of once"),
        points_captured(model, layout, lambda *_: None),
    ):
        transformers_pass(model, token_ids)


def transformers_pass(model, token_ids):
    model.network.set_attn_implementation("eager")
    model.network(torch.tensor([token_ids]), use_cache=False)
