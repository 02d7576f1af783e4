"""What a pattern delivers: the formula, known answers, and plain hooks on the eager attention of transformers."""

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from homogenization.interventions.attribution import added_to, attribution_of_review
from homogenization.interventions.readings import massive_tokens
from homogenization.interventions.recorded import in_float64, record
from homogenization.measures.blocks import find_layout
from homogenization.metrics.cosines import mean_cosine
from homogenization.metrics.differentiable import cosine_anisotropy
from homogenization.states.network import packed_model
from plain_interventions import derivative_at_0, run_plainly, steered_layers, tiny_language_model
from tiny_blocks import NETWORKS, POST_NORM
from tiny_models import _GROUPED, CONFIGS, network, random_texts

PATTERNS = ("first", "recency")
N_TOKENS = 24
OUTPUT_OF_ATTENTION = {
    "gpt2": "attn",
    "gpt_neox": "attention",
    "gpt_neox_sequential": "attention",
    "bert": "attention.output.dense",
}
STREAM = {"gpt2": "ln_2", "gpt_neox": "", "bert": "attention.output.LayerNorm"}
STREAM |= dict.fromkeys(POST_NORM, "pre_feedforward_layernorm")


def at(block, path):
    return block.get_submodule(path)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 9), common=st.floats(0, 3))
def test_the_formula_is_the_derivative_and_has_the_sign_of_the_cosine_along_the_mean(seed, n, common):
    generator = np.random.default_rng(seed)
    tokens = generator.standard_normal((n, 5)) * generator.uniform(0.5, 4, (n, 1)) + common
    added = generator.standard_normal((n, 5))
    strength = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(
        cosine_anisotropy(torch.from_numpy(tokens) + strength * torch.from_numpy(added)), strength
    )
    cosine, length, predicted = added_to(torch.from_numpy(tokens), torch.from_numpy(added))
    assert predicted == pytest.approx(float(slope), rel=1e-9, abs=1e-12)
    step = 1e-5
    difference = (mean_cosine(tokens + step * added) - mean_cosine(tokens - step * added)) / (2 * step)
    assert predicted == pytest.approx(difference, rel=1e-5, abs=1e-6)
    units = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    mean = units.mean(axis=0) / np.linalg.norm(units.mean(axis=0))
    sizes = np.linalg.norm(added, axis=1)
    assert cosine == pytest.approx((added @ mean / sizes).mean())
    assert length == pytest.approx((sizes / np.linalg.norm(tokens, axis=1)).mean())
    for sign in (-1, 1):
        along = added_to(torch.from_numpy(tokens), torch.from_numpy(np.tile(sign * mean, (n, 1))))
        assert along[0] == pytest.approx(sign)
        assert sign * along[2] > -1e-12


def pattern_rows(name, n, causal):
    """P (n, n) of a text, row by row."""
    rows = np.zeros((n, n))
    for query in range(n):
        for key in range(query + 1 if causal else n):
            rows[query, key] = key == 0 if name == "first" else 0.5 ** (abs(query - key) / 4)
    return rows / rows.sum(axis=1, keepdims=True)


def through_norm(norm, inputs, added, centred):
    """The derivative of a norm of the last axis: of RMSNorm, or of LayerNorm, which is `centred`."""
    gain = norm.weight.detach().double().numpy()
    gain = gain if centred or "Gemma" not in type(norm).__name__ else 1 + gain
    eps = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    if centred:
        inputs, added = (rows - rows.mean(axis=1, keepdims=True) for rows in (inputs, added))
    size = np.sqrt((inputs**2).mean(axis=1, keepdims=True) + eps)
    return gain * (added / size - inputs * (inputs * added).mean(axis=1, keepdims=True) / size**3)


def normed(norm, rows):
    """What Gemma's RMSNorm makes of rows: only their direction counts."""
    size = np.sqrt((rows**2).mean(axis=1, keepdims=True) + norm.eps)
    return (1 + norm.weight.detach().double().numpy()) * rows / size


def plain_attribution(made, name, ids, block, pattern):
    """The stream with the attention of a block in it; what the block adds if attention puts out the rows of P alone.

    And what these add to first order; all from passes with A = P and 0.
    """
    listed = next(module for module in made.base_model.modules() if isinstance(module, torch.nn.ModuleList))[block]
    rows = pattern_rows(pattern, len(ids), name != "bert")
    kept = {}

    def keep(key, reads_input):
        def hook(_module, inputs, output):
            read = inputs if reads_input else output
            kept[key] = (read[0] if isinstance(read, tuple) else read)[0].double().numpy()

        return hook

    def run(factor):
        def change(number, attention):
            return attention if number != block or factor is None else attention * 0 + factor * rows

        run_plainly(made, ids, change)
        return dict(kept)

    inside = name in POST_NORM  # the branch
    post_norm = "attention.output.LayerNorm" if name == "bert" else "post_attention_layernorm" if inside else None
    stream = at(listed, STREAM.get(name, "post_attention_layernorm"))
    hooks = [
        at(listed, OUTPUT_OF_ATTENTION.get(name, "self_attn")).register_forward_hook(keep("attention", False)),
        stream.register_forward_hook(keep("stream", name not in ("gpt_neox", "bert"))),
    ]
    if post_norm:
        hooks.append(at(listed, post_norm).register_forward_hook(keep("normed", True)))
    untouched, whole, nothing = run(None), run(1.0), run(0.0)
    for hook in hooks:
        hook.remove()
    added = whole["attention"] - nothing["attention"]
    first_order = added
    if post_norm:
        first_order = through_norm(at(listed, post_norm), untouched["normed"], added, name == "bert")
    alone = normed(at(listed, post_norm), added) if inside else first_order
    return untouched["stream"], alone, first_order


@pytest.mark.parametrize(
    "name", ["llama", "gemma", "gemma2", "gemma3", "qwen2", "gpt2", "gpt_neox", "gpt_neox_sequential", "bert"]
)
def test_rows_are_those_of_plain_hooks(name):
    made, model = tiny_language_model(name, NETWORKS[name])
    ids = random_texts([N_TOKENS])[0]
    expected = {pattern: plain_attribution(made, name, ids, 1, pattern) for pattern in PATTERNS}
    made.set_attn_implementation("packed_reviews")
    model = in_float64(model)
    found = attribution_of_review(record(model, ids, find_layout(model)), b"r", PATTERNS)[1]
    for number, taken in enumerate(expected.values()):
        stream, alone, first_order = (torch.from_numpy(rows[1:]) for rows in taken)
        numbers = *added_to(stream, alone)[:2], added_to(stream, first_order)[2]
        np.testing.assert_allclose(found[number, :3], numbers, rtol=2e-4, atol=1e-5)


def test_what_points_along_attention_reaches_the_stream_behind_a_norm_and_has_no_slope():
    """All values nearly alike: the first token puts into the stream what attention adds anyway."""
    config = transformers.Gemma3TextConfig(**_GROUPED | {"num_hidden_layers": 1}, head_dim=16, query_pre_attn_scalar=16)
    model = packed_model(network(config))
    with torch.no_grad():
        model.network.embed_tokens.weight[:] *= 0.01
        model.network.embed_tokens.weight[:, :] += torch.randn(48, generator=torch.Generator().manual_seed(0))
    model = in_float64(model)
    recorded = record(model, random_texts([12])[0], find_layout(model))
    cosine, length, predicted, _, _ = attribution_of_review(recorded, b"r", ["first"])[0, 0]
    with recorded.block(0) as block:
        tokens = block.resid_mid.detach()[1:]
    added = tokens - recorded.layers[0].detach()[1:]
    along, size, change = added_to(tokens, added)
    assert (cosine, length) == pytest.approx((along, size), rel=0.02)
    assert abs(along) > 0.1
    assert abs(predicted) < 0.2 * abs(change)


def slopes(model, ids, pattern, block, left):
    """Derivatives of the mean cosine after a block and the last one by its steering, by differences in float64."""

    def values(strength):
        layers = steered_layers(model, ids, pattern, strength, {block})
        return np.array([mean_cosine(layers[layer][left]) for layer in (block + 1, -1)])

    return derivative_at_0(values)


@pytest.mark.parametrize(
    ("name", "n_tokens", "windowed"),
    [
        *((name, N_TOKENS, False) for name in ("llama", "gemma2", "gpt_neox", "bert")),
        # two chunks of queries; those from place 32 on do not see the first token in the blocks with the window
        *((name, 140, True) for name in ("gemma3", "qwen2_sliding", "gemma2")),
    ],
)
def test_measured_slopes_are_those_of_a_pattern_less_removed(name, n_tokens, windowed):
    model = in_float64(packed_model(network(NETWORKS[name])))
    ids = random_texts([n_tokens])[0]
    recorded = record(model, ids, find_layout(model))
    number = next(number for number in range(recorded.n_blocks) if window_of(recorded, number)) if windowed else 1
    found = attribution_of_review(recorded, b"r", ["first", "uniform"])
    assert np.isfinite(found).all() or not windowed
    left = list(range(1, n_tokens))
    nothing = slopes(model, ids, "removed", number, left)
    expected = [slopes(model, ids, pattern, number, left) - nothing for pattern in ("first", "uniform")]
    np.testing.assert_allclose(found[number, :, 3:], expected, rtol=1e-3, atol=1e-6)
    if name == "gpt_neox":  # its branches are parallel
        np.testing.assert_allclose(found[..., 2], found[..., 3], rtol=1e-9)
    else:
        assert np.abs(found[..., 2] - found[..., 3]).max() > 1e-3


def window_of(recorded, number):
    with recorded.block(number) as block:
        return block.maps[-1].window


def test_one_block_without_feed_forward_does_what_is_predicted():
    """Also with a massive token, which all of it leaves out, and with more queries than pass at a time."""
    config = type(CONFIGS["llama"])(**{**CONFIGS["llama"].to_dict(), "num_hidden_layers": 1})
    model = packed_model(network(config))
    ids = random_texts([150])[0]
    with torch.no_grad():
        model.blocks[0].mlp.down_proj.weight.zero_()
        model.network.embed_tokens.weight[ids[7]] *= 300
    model = in_float64(model)
    recorded = record(model, ids, find_layout(model))
    places = {place for place, token in enumerate(ids) if token == ids[7]}
    assert massive_tokens([layer.detach().numpy() for layer in recorded.layers]) == recorded.massive == places
    found = attribution_of_review(recorded, b"r", PATTERNS)[0]
    np.testing.assert_allclose(found[:, 2], found[:, 3], rtol=1e-9)
    np.testing.assert_allclose(found[:, 2], found[:, 4], rtol=1e-9)
    left = sorted(set(range(1, 150)) - places)
    expected = slopes(model, ids, "first", 0, left) - slopes(model, ids, "removed", 0, left)
    assert found[0, 2] == pytest.approx(expected[0], rel=1e-4)


def test_two_tokens_are_too_few_without_the_first():
    model = in_float64(packed_model(network(CONFIGS["llama"])))
    found = attribution_of_review(record(model, [5, 6], find_layout(model)), b"r", ["first"])
    assert np.isnan(found).all()
