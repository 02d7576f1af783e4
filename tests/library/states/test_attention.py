"""A recorded pass against transformers' own eager attention."""

import numpy as np
import pytest
import torch
import transformers

from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import AttentionRecord, recorded_attention, recording
from homogenization.states.network import findings, forward, transformer_of
from tiny_models import BEHIND_PADDING, BIDIRECTIONAL, CONFIGS, REFUSED, WINDOW, network, random_texts, reference

# longer and shorter than a chunk of queries and than the sliding window; one single token
TEXTS = random_texts([150, 37, 1, 270])
READ = CONFIGS | BEHIND_PADDING


@pytest.fixture(scope="module", params=READ)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def model(architecture):
    return transformer_of(network(READ[architecture]))


def run(model, text, **options):
    states = []
    result = forward(model, text, lambda _, taken: states.append(taken.clone().numpy()), **options)
    return np.stack(states), result


def test_a_pass_equals_eager_attention(model, architecture):
    """Of a padding token inside a text too, which is not counted among positions."""
    texts = [list(text) for text in TEXTS]
    if architecture in BEHIND_PADDING:
        texts[0][7] = model.network.config.pad_token_id
    for text in texts:
        states, result = run(model, text)
        expected = reference(model.network, text)
        np.testing.assert_allclose(states, np.stack(expected.residual_stream), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(result.last_hidden_state, expected.last_hidden_state, rtol=1e-5, atol=1e-5)
        column_sums = expected.attention.mean(axis=1).sum(axis=1)
        np.testing.assert_allclose(result.received, column_sums, rtol=1e-5, atol=1e-5)


def test_no_attention_to_later_tokens_in_causal_models(model, architecture):
    text, other = random_texts([200, 200], seed=1)
    states, result = run(model, text)
    changed, _ = run(model, text[:150] + other[150:])
    bidirectional = architecture in BIDIRECTIONAL | set(BEHIND_PADDING)
    assert np.array_equal(states[:, :150], changed[:, :150]) == (not bidirectional)
    assert not np.array_equal(states[:, 150:], changed[:, 150:])
    if not bidirectional:
        # the last token is seen by itself alone, and softmax gives it at most 1
        assert (result.received[:, -1] <= 1).all()


def test_causality_windows_and_final_norm_are_found_out(model, architecture):
    found = findings(model)
    bidirectional = architecture in BIDIRECTIONAL | set(BEHIND_PADDING)
    assert (found.causal, found.final_norm) == (not bidirectional, not bidirectional)
    windows = {"gemma2": (WINDOW, None, WINDOW), "qwen2_sliding": (None, WINDOW, WINDOW)}
    assert found.attention_windows == windows.get(architecture, (None, None, None))


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in {"XmodModel", "Llama4TextModel"}])
def test_architectures_that_can_not_be_honoured_are_refused_by_name(name):
    with pytest.raises(HomogenizationError, match=name):
        findings(transformer_of(network(REFUSED[name])))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            transformers.Gemma3nTextConfig(hidden_size=48, num_hidden_layers=3, num_kv_shared_layers=0),
            "several residual streams side by side",
        ),
        (
            transformers.DeepseekV32Config(hidden_size=48, num_hidden_layers=3, vocab_size=300),
            "an indexer chooses the tokens",
        ),
    ],
    ids=["gemma3n", "deepseek_v32"],
)
def test_architectures_that_do_something_else_are_refused_with_the_reason(config, reason):
    with torch.device("meta"):
        made = transformers.AutoModel.from_config(config)
    with pytest.raises(HomogenizationError, match=reason):
        transformer_of(made)


class Attention(torch.nn.Module):
    is_causal = False


def call(module, record=None, n_keys=4, **arguments):
    query, key = torch.randn(1, 2, 4, 8), torch.randn(1, 2, n_keys, 8)
    with recording(record or AttentionRecord("TinyModel", {id(module): 0})):
        return recorded_attention(module, query, key, key, **({"attention_mask": None} | arguments))


@pytest.mark.parametrize(
    ("name", "argument"), [("s_aux", torch.zeros(2)), ("position_bias", torch.zeros(1, 2, 4, 4)), ("dropout", 0.1)]
)
def test_unknown_arguments_are_refused_by_name(name, argument):
    with pytest.raises(HomogenizationError, match=f"TinyModel.*'{name}'"):
        call(Attention(), **{name: argument})


def test_neutral_arguments_pass():
    output, weights = call(Attention(), s_aux=None, use_cache=False, position_ids=torch.arange(4), softcap=None)
    assert output.shape == (1, 4, 2, 8)
    assert weights is None


@pytest.mark.parametrize(("arguments", "said"), [({"n_keys": 3}, "beyond the text"), ({"is_causal": True}, "no mask")])
def test_attention_to_something_else_is_refused(arguments, said):
    with pytest.raises(HomogenizationError, match=f"TinyModel.*{said}"):
        call(Attention(), **arguments)


def test_each_block_attends_exactly_once_and_all_alike():
    module = Attention()
    record = AttentionRecord("TinyModel", {id(module): 0})
    call(module, record)
    assert not record.is_causal(1)
    with pytest.raises(HomogenizationError, match=r"TinyModel: blocks without attention .*: 2"):
        record.is_causal(2)
    with pytest.raises(HomogenizationError, match="TinyModel: block 1 attends more than once"):
        call(module, record)
    with pytest.raises(HomogenizationError, match="TinyModel: Attention attends outside"):
        call(Attention(), record)
    record.attended[1], record.causal[1] = module, True
    with pytest.raises(HomogenizationError, match="TinyModel: some blocks"):
        record.is_causal(2)


class TestWhatAttentionPassesThrough:
    def test_sees_all_weights_once_and_leaves_the_states_as_they_are(self, model):
        seen = {}

        def look(attention):
            received = seen.setdefault(attention.block, torch.zeros(attention.n_tokens))
            torch.testing.assert_close(attention.weights.sum(dim=-1), torch.ones_like(attention.weights[..., 0]))
            keys = slice(attention.first_key, attention.first_key + attention.weights.shape[-1])
            received[keys] += attention.weights.mean(dim=0).sum(dim=0)
            return attention.weights

        states, result = run(model, TEXTS[3], through=look)
        plain, recorded = run(model, TEXTS[3])
        np.testing.assert_array_equal(states, plain)
        assert torch.equal(result.received, recorded.received)
        torch.testing.assert_close(result.received, torch.stack(list(seen.values())), rtol=1e-5, atol=1e-6)

    def test_weighs_the_values_and_counts_as_received(self, model):
        """With nothing given to the values, what attention adds no longer depends on any other token."""

        def nothing(attention):
            return torch.zeros_like(attention.weights)

        states, result = run(model, TEXTS[0], through=nothing)
        assert not result.received.any()
        alone, _ = run(model, TEXTS[0][:1], through=nothing)
        np.testing.assert_allclose(states[:, :1], alone, rtol=1e-4, atol=1e-5)
