"""How alike tokens are at each point of each block: as through transformers, and up to the table."""

import copy

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from hypothesis import given

from extracted import EMBEDDED, IDENTITY, tiny
from homogenization.measures import components
from homogenization.measures.components import COMPONENT_STATES_SCHEMA, NUMBERS, TOKEN_VIEWS, token_alignment
from homogenization.measures.layouts import LAYOUTS, check_sums, find_layout
from homogenization.metrics.geometry import TokenMatrix, intrinsic_dimension, neighbourhood_overlap
from homogenization.run.errors import HomogenizationError
from homogenization.states.forward import forward
from homogenization.states.texts import Texts
from measured import degenerate_tokens, plain_numbers
from tiny_models import _GROUPED, _SIZE, CONFIGS, beginning, random_texts

KEYS = ("layer", "point", "view", "review_id")
NETWORKS = CONFIGS | {
    "mistral": transformers.MistralConfig(**_GROUPED, sliding_window=None),
    "gemma3": transformers.Gemma3TextConfig(**_GROUPED, head_dim=16, query_pre_attn_scalar=16, sliding_window=32),
}
POST_NORM = {"gemma2", "gemma3"}
MODULES = {  # norm 1, attention, norm 2, feed-forward; what comes out of each is written down by a test's own hooks
    "GPT2Model": ("ln_1", "attn", "ln_2", "mlp"),
    "GPTNeoXModel": ("input_layernorm", "attention", "post_attention_layernorm", "mlp"),
    "BertModel": ("attention.output.LayerNorm", "attention.output.dense", "output.LayerNorm", "output.dense"),
}
LLAMA = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
SANDWICH = ("input_layernorm", "self_attn", "pre_feedforward_layernorm", "mlp")
BEHIND = ("post_attention_layernorm", "post_feedforward_layernorm")  # norms behind attention and feed-forward network


def measure(model, texts):
    tables, metadata = components.measure(model, Texts([f"r{number}" for number in range(len(texts))], texts), IDENTITY)
    return tables["components"], metadata


def expected_points(made, name, token_ids):
    """Points of each block of transformers' eager network for one text: module outputs, and sums taken here."""
    paths = SANDWICH if name in POST_NORM else MODULES.get(type(made).__name__, LLAMA)
    blocks = next(module for module in made.modules() if isinstance(module, torch.nn.ModuleList))
    outputs = [{} for _ in blocks]

    def keep(block, path):
        def hook(module, inputs, output):
            outputs[block][path] = (output[0] if isinstance(output, tuple) else output)[0].double().numpy()

        return hook

    behind = BEHIND if name in POST_NORM else ()
    for index, block in enumerate(blocks):
        for path in (*paths, *behind, ""):
            block.get_submodule(path).register_forward_hook(keep(index, path))
    made.config.tie_last_hidden_states = False
    with torch.inference_mode():
        embedded = made(torch.tensor([token_ids]), output_hidden_states=True, use_cache=False).hidden_states[0]
    stream, points = embedded[0].double().numpy(), []
    for output in outputs:
        norm_1, attention, norm_2, feed_forward = (output[path] for path in paths)
        taken = {"resid_pre": stream, "ln1_out": norm_1, "attn_out": attention}
        taken |= {"ln2_out": norm_2, "mlp_out": feed_forward}
        if name == "gpt_neox":
            taken["resid_post"] = stream + attention + feed_forward
        elif name == "bert":
            taken |= {"resid_mid": stream + attention, "resid_post": norm_1 + feed_forward}
        else:
            if behind:
                taken["ln1_post_out"], taken["ln2_post_out"] = (output[path] for path in behind)
            taken["resid_mid"] = stream + taken.get("ln1_post_out", attention)
            taken["resid_post"] = taken["resid_mid"] + taken.get("ln2_post_out", feed_forward)
        stream = output[""]
        points.append(taken)
    return points


def through_transformers(model, name, texts):
    """(layer, point, view, review) -> number of tokens, width, and the numbers by the definitions."""
    plain, found = copy.deepcopy(model.network.base_model), {}
    plain.set_attn_implementation("eager")
    for index, text in enumerate(texts):
        token_ids = model.tokenizer(text)["input_ids"]
        for layer, points in enumerate(expected_points(plain, name, token_ids), start=1):
            for point, tokens in points.items():
                rest = tokens[1:]
                seen = (tokens, rest, tokens - tokens.mean(axis=0), rest - rest.mean(axis=0))
                for view, rows in zip(TOKEN_VIEWS, seen, strict=True):
                    found[layer, point, view, f"r{index}"] = [*tokens.shape, *plain_numbers(rows)]
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_points_and_numbers_equal_those_of_single_texts_through_transformers(name):
    model = tiny(NETWORKS[name])
    texts = ["Short and good.", *(beginning(model.tokenizer, text, 64) for text in EMBEDDED[:2])]
    table, metadata = measure(model, texts)
    assert table.schema == pl.Schema(COMPONENT_STATES_SCHEMA)
    assert table.select("model", "variant").unique().rows() == [("tiny", "front")]
    assert table.filter(pl.col("depth") != pl.col("layer") / model.n_blocks).is_empty()
    found = {row[:4]: row[4:] for row in table.select(*KEYS, "n_tokens", "width", *NUMBERS).rows()}
    expected = through_transformers(model, name, texts)
    assert len(found) == len(table)
    assert found.keys() == expected.keys()
    for key, numbers in expected.items():
        np.testing.assert_allclose(found[key], numbers, rtol=2e-5, atol=2e-5, err_msg=str(key))
    assert set(metadata["components"]) == set(find_layout(model).components)
    assert len([layout for layout in LAYOUTS if all(layout.fits(block) for block in model.blocks)]) == 1


@pytest.mark.parametrize("name", NETWORKS)
def test_components_lead_from_what_goes_in_to_what_comes_out(name):
    model = tiny(NETWORKS[name])
    layout, token_ids = find_layout(model), random_texts([40])[0]
    points = forward(model, token_ids, taps=layout.points).taps
    added = ["ln1_post_out", "ln2_post_out"] if name in POST_NORM else ["attn_out", "mlp_out"]
    additions = {"attention_addition": added[:1], "feed_forward_addition": added[1:]}
    additions = {"addition": added} if name == "gpt_neox" else additions
    ends = {"norm_1": "ln1_out", "attention": "attn_out", "norm_2": "ln2_out", "feed_forward": "mlp_out"}
    assert {component: layout.components[component][1] for component in ends} == ends
    assert {component for component in layout.components if component.endswith("addition")} == additions.keys()
    for component, branches in additions.items():
        before, after = layout.components[component]
        change = points[1, after] - points[1, before]
        torch.testing.assert_close(change, sum(points[1, branch] for branch in branches), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", NETWORKS)
def test_sums_come_out_in_every_precision(name, dtype):
    model = tiny(NETWORKS[name], dtype=dtype)
    layout = find_layout(model)
    check_sums(model, layout, forward(model, random_texts([90])[0], taps=layout.points).taps)


def spoilt(made):
    """One number of a block is off."""

    def spoil(module, inputs, output):
        changed = output.clone()
        changed[0, 5, 7] += 1e-5
        return changed

    made.layers[1].register_forward_hook(spoil)


@pytest.mark.parametrize(
    ("config", "weights", "message"),
    [
        (transformers.GraniteConfig(**_GROUPED, residual_multiplier=0.22), None, "Granite.* in block 1, resid_mid is"),
        (CONFIGS["llama"], spoilt, "in block 2, resid_post is not the sum of resid_mid and mlp_out"),
        (transformers.PhiConfig(**_SIZE), None, r"PhiModel: .*input_layernorm.*Llama.*LAYOUTS"),
    ],
)
def test_blocks_that_can_not_be_told_apart_are_refused(config, weights, message):
    with pytest.raises(HomogenizationError, match=message):
        measure(tiny(config, weights=weights), EMBEDDED[:1])


def test_states_that_are_not_finite_name_block_point_and_review():
    model = tiny(CONFIGS["llama"])
    first, second = (set(model.tokenizer(text)["input_ids"]) for text in EMBEDDED[:2])
    model.base.embed_tokens.weight.data[min(second - first)] = torch.inf
    with pytest.raises(HomogenizationError, match=r"shard 001, resid_pre of block 1, review r1: .*not finite"):
        measure(model, EMBEDDED[:2])


def test_distances_from_the_input_of_a_component_to_its_output():
    model = tiny(CONFIGS["gemma2"])
    text = beginning(model.tokenizer, EMBEDDED[0], 48)
    table, metadata = measure(model, [text])
    taps = forward(model, model.tokenizer(text)["input_ids"], taps=find_layout(model).points, head=False).taps
    for view, start in (("all_tokens", 0), ("without_first", 1)):
        tokens = {place: TokenMatrix(states.double().numpy()[start:]) for place, states in taps.items()}
        for component, (before, after) in metadata["components"].items():
            for block in (0, 1):
                row = table.filter(layer=block + 1, point=after, view=view).row(0, named=True)
                seen, entered = tokens[block, after], tokens[block, before]
                seen.neighbours_before = entered.neighbours
                assert row["intrinsic_dimension"] == pytest.approx(intrinsic_dimension(seen), rel=1e-9), component
                assert row["neighbourhood_overlap"] == pytest.approx(neighbourhood_overlap(seen)), component
    assert table.filter(view="centred")["intrinsic_dimension"].null_count() == len(table) / 4


def aligned(tokens):
    """(views, numbers)"""
    found = token_alignment(TokenMatrix(np.asarray(tokens, dtype=np.float64)))
    return np.array([[found[view][name] for name in NUMBERS] for view in TOKEN_VIEWS])


@given(tokens=degenerate_tokens())
def test_degenerate_reviews_have_the_numbers_of_the_definitions(tokens):
    for numbers, seen in zip(aligned(tokens)[:2], (tokens, tokens[1:]), strict=True):
        expected = plain_numbers(seen)
        np.testing.assert_allclose(numbers[[0, 2]], [expected[0], expected[2]], rtol=1e-8)
        np.testing.assert_allclose(numbers[1], expected[1], atol=1e-12)
