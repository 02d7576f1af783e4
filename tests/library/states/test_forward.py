"""One pass over one text, against transformers' own eager attention in the same network: equal to the bit."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from homogenization.models.blocks import blocks_of
from homogenization.models.network import LanguageModel
from homogenization.run.errors import HomogenizationError
from homogenization.states.forward import forward
from tiny_models import (
    BIDIRECTIONAL,
    CONFIGS,
    FURTHER,
    HEADLESS,
    REFUSED,
    WITHOUT_INTERFACE,
    language_model,
    network,
    random_texts,
)

ALL = CONFIGS | FURTHER
# longer than the windows, with the padding token of some; a single token
TEXTS = random_texts([70, 1])
TEXTS[0][7] = 3


@pytest.fixture(scope="module", params=ALL)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def model(name):
    return language_model(name, ALL[name])


@torch.inference_mode()
def eager(model, text, attentions=True, **placed):
    """What transformers gives for one text; attention (blocks, heads, queries, keys)."""
    plain = copy.deepcopy(model.network)
    plain.set_attn_implementation("eager")
    plain.config.tie_last_hidden_states = False
    ids, after_last = torch.tensor([text]), []
    given = {"attention_mask": torch.ones_like(ids), "use_cache": False, **placed}
    blocks_of(plain.base_model)[-1].register_forward_hook(lambda _module, _inputs, output: after_last.append(output))
    output = plain(ids, output_hidden_states=True, output_attentions=attentions, **given)
    states = after_last[0][0] if isinstance(after_last[0], tuple) else after_last[0]
    base = replace(model, network=plain).base
    last = output.last_hidden_state if "last_hidden_state" in output else base(ids, **given)[0]
    return SimpleNamespace(
        states=[*(layer[0] for layer in output.hidden_states[: model.n_blocks]), states[0]],
        last=last[0],
        logits=output.logits[0] if "logits" in output else None,
        attention=torch.stack([weights[0] for weights in output.attentions]) if attentions else None,
    )


def assert_same_states(result, expected):
    for layer, (ours, theirs) in enumerate(zip(result.states, expected.states, strict=True)):
        assert torch.equal(ours, theirs), f"layer {layer}"
    assert torch.equal(result.last, expected.last)
    assert (result.logits is None) == (expected.logits is None)
    assert result.logits is None or torch.equal(result.logits, expected.logits)


def assert_same(one, other):
    assert_same_states(one, other)
    assert torch.equal(one.received, other.received)
    assert torch.equal(one.first, other.first)


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_a_pass_equals_eager_attention(model, text):
    result, expected = forward(model, text), eager(model, text)
    assert_same_states(result, expected)
    close = {"rtol": 1e-6, "atol": 1e-6}
    torch.testing.assert_close(result.received, expected.attention.mean(1).sum(1), **close)
    torch.testing.assert_close(result.first, expected.attention[..., 0].mean(-1), **close)


def test_a_watch_sees_all_weights_once_and_leaves_the_pass_as_it_is(model, name):
    found = []

    def look(attention):
        found.append(attention)
        return attention.weights

    result = forward(model, TEXTS[0], watch=look)
    assert_same(result, forward(model, TEXTS[0]))
    expected = eager(model, TEXTS[0]).attention
    assert [attention.block for attention in found] == list(range(model.n_blocks))
    for attention, weights, uniform in zip(found, expected, result.uniform, strict=True):
        assert torch.equal(attention.weights, weights)
        assert torch.equal(attention.seen, weights.amax(0) > 0)
        assert bool(attention.seen.triu(1).any()) == (name in BIDIRECTIONAL)
        seen = attention.seen.double()
        torch.testing.assert_close(uniform, (seen / seen.sum(1, keepdim=True)).sum(0))


def test_all_tokens_at_one_position(model, name):
    constant, text = [5] * len(TEXTS[0]), TEXTS[0]
    result = forward(model, text, positions=constant)
    assert_same_states(result, eager(model, text, position_ids=torch.tensor([constant])))
    counted = forward(model, text, positions=range(len(text)))
    assert_same(counted, forward(model, text)) if name not in BIDIRECTIONAL else None


@pytest.mark.parametrize("name", WITHOUT_INTERFACE)
def test_states_without_the_interface_and_no_attention(name):
    model = language_model(name, WITHOUT_INTERFACE[name])
    result = forward(model, TEXTS[0])
    assert_same_states(result, eager(model, TEXTS[0], attentions=False))
    assert (model.causal, model.has_head) == (name not in BIDIRECTIONAL, name not in HEADLESS)
    assert (result.received, result.first) == (None, None)
    with pytest.raises(HomogenizationError, match=f"{model.architecture}.*can't be changed"):
        forward(model, TEXTS[0], watch=lambda attention: attention.weights)


@pytest.mark.parametrize("name", REFUSED)
def test_architectures_without_one_residual_stream_are_refused_by_name(name):
    model = LanguageModel(network(REFUSED[name]), None, 512, "default", {})
    with pytest.raises(HomogenizationError, match=name):
        forward(model, TEXTS[0])


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_pass_in_another_dtype(name, dtype):
    """Eager attention of a float64 network has its softmax in float32, and ours in float64."""
    model = language_model(name, ALL[name], dtype)
    seen = []
    result = forward(model, TEXTS[0], watch=lambda attention: seen.append(attention.weights.dtype) or attention.weights)
    expected = eager(model, TEXTS[0])
    if dtype == torch.bfloat16:
        assert_same_states(result, expected)
    torch.testing.assert_close(result.states, expected.states, rtol=1e-5, atol=1e-5)
    assert (result.states[0].dtype, result.received.dtype) == (dtype, torch.float32)
    assert set(seen) == {torch.promote_types(dtype, torch.float32)}
