"""Packed attention against transformers' own eager attention, one text at a time."""

import numpy as np
import pytest
import torch
import transformers

from homogenization.run.errors import HomogenizationError
from homogenization.states import attention, check
from homogenization.states.attention import PackedPass, attending_to, packed_attention
from homogenization.states.check import check_against_eager
from homogenization.states.network import packed_model, run_packed
from tiny_models import BEHIND_PADDING, BIDIRECTIONAL, CONFIGS, REFUSED, WINDOW, network, random_texts, reference

# longer and shorter than a chunk of queries and than the sliding window; one single token
LENGTHS = [150, 37, 1, 270]


@pytest.fixture(scope="module", params=CONFIGS)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def model(architecture):
    return packed_model(network(CONFIGS[architecture]))


def run(model, texts, record_attention=True, through=None):
    states = [None] * (model.n_blocks + 1)

    def take(layer, taken):
        assert states[layer] is None
        states[layer] = taken.clone().numpy()

    ids = [token for text in texts for token in text]
    result = run_packed(model, ids, [len(text) for text in texts], record_attention, take, through=through)
    return np.stack(states), result


def assert_as_single_texts(model, texts, record_attention=True):
    """A packed pass gives the numbers of transformers' eager attention on each text alone."""
    states, result = run(model, texts, record_attention)
    start = 0
    for text in texts:
        stop = start + len(text)
        expected = reference(model.network, text)
        np.testing.assert_allclose(states[:, start:stop], np.stack(expected.residual_stream), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            result.last_hidden_state[start:stop], expected.last_hidden_state, rtol=1e-5, atol=1e-5
        )
        if record_attention:
            column_sums = expected.attention.mean(axis=1).sum(axis=1)
            np.testing.assert_allclose(result.received[:, start:stop], column_sums, rtol=1e-5, atol=1e-5)
        start = stop


@pytest.mark.parametrize("record_attention", [True, False])
def test_equals_eager_attention_on_single_texts(model, record_attention):
    assert_as_single_texts(model, random_texts(LENGTHS), record_attention)


def test_no_attention_to_later_tokens_in_causal_models(model, architecture):
    text, other = random_texts([200, 200], seed=1)
    states, result = run(model, [text])
    changed, _ = run(model, [text[:150] + other[150:]])
    unchanged = np.array_equal(states[:, :150], changed[:, :150])
    assert unchanged == (architecture not in BIDIRECTIONAL)
    assert not np.array_equal(states[:, 150:], changed[:, 150:])
    if architecture not in BIDIRECTIONAL:
        # the last token is seen by itself alone, and softmax gives it at most 1
        assert (result.received[:, -1] <= 1).all()


@pytest.mark.parametrize("record_attention", [True, False])
def test_no_attention_across_texts(model, record_attention):
    before, text, after = random_texts([60, 140, 80], seed=2)
    other_before, other_after = random_texts([60, 80], seed=3)
    states, result = run(model, [before, text, after], record_attention)
    changed, other = run(model, [other_before, text, other_after], record_attention)
    np.testing.assert_array_equal(states[:, 60:200], changed[:, 60:200])
    if record_attention:
        np.testing.assert_array_equal(result.received[:, 60:200], other.received[:, 60:200])


def test_causality_and_final_norm_are_found_out(model, architecture):
    findings = check_against_eager(model, longest=max(LENGTHS), record_attention=True)
    assert findings.causal == (architecture not in BIDIRECTIONAL)
    assert findings.final_norm == (architecture not in BIDIRECTIONAL)


@pytest.mark.parametrize("name", BEHIND_PADDING)
def test_texts_that_begin_behind_padding_have_the_positions_of_single_texts(name):
    """Of a padding token inside a text too, which is not counted, and of the longest text that there may be."""
    made = packed_model(network(BEHIND_PADDING[name]))
    findings = check_against_eager(made, longest=64, record_attention=True)
    assert (findings.causal, findings.final_norm) == (False, False)
    texts = random_texts([40, 1, 508])
    texts[0][7] = made.network.config.pad_token_id
    assert_as_single_texts(made, texts)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_passes_the_check(architecture, dtype):
    check_against_eager(packed_model(network(CONFIGS[architecture], dtype)), longest=64, record_attention=True)


def with_large_logits():
    """A Qwen2 in bfloat16 whose biases make attention logits so large that eager attention itself is far off."""
    made = network(CONFIGS["qwen2"], torch.bfloat16)
    generator = torch.Generator().manual_seed(0)
    for name, weight in made.named_parameters():
        if name.endswith(("q_proj.bias", "k_proj.bias")):
            weight.data.copy_(30 * torch.randn(weight.shape, generator=generator))
    return packed_model(made)


def test_large_logits_in_half_precision_are_checked_in_float32():
    made = with_large_logits()
    before = {name: weight.clone() for name, weight in made.network.named_parameters()}
    passes = check._both_ways(made, check._probes(made.network.config, 64), record_attention=True)
    with pytest.raises(HomogenizationError, match="differs between packed texts"):
        check._compare(made, passes)
    check_against_eager(made, longest=64, record_attention=True)
    after = dict(made.network.named_parameters())
    assert all(after[name].dtype == torch.bfloat16 and torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: packed_model(network(CONFIGS["llama"])), "LlamaModel: the residual stream of layer 1 differs"),
        # in float32 too, where large logits explain nothing
        (with_large_logits, "Qwen2Model: the residual stream of layer 1 differs .*explains 0.0001"),
    ],
)
def test_the_check_sees_an_attention_without_causality(monkeypatch, make, words):
    made = make()
    monkeypatch.setattr(attention, "_causal_bias", lambda size, dtype, device: torch.zeros(size, size))
    with pytest.raises(HomogenizationError, match=words):
        check_against_eager(made, longest=64, record_attention=True)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("record_attention", [True, False])
def test_architectures_that_cannot_be_honoured_are_refused_by_name(name, record_attention):
    with pytest.raises(HomogenizationError, match=name):
        check_against_eager(packed_model(network(REFUSED[name])), longest=2 * WINDOW, record_attention=record_attention)


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
    with pytest.raises(HomogenizationError, match=f"{reason}.*Choose a model whose architecture is supported"):
        packed_model(made)


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "qwen2", "bert"])
def test_an_overflow_of_float16_names_the_dtypes_that_hold_it(architecture):
    made = network(CONFIGS[architecture], torch.float16)
    made.get_input_embeddings().weight.data.fill_(1)
    for name, weight in made.named_parameters():
        if name.endswith(("gate_proj.weight", "up_proj.weight", "intermediate.dense.bias")):
            weight.data.fill_(1)  # all inputs of the last matrix are positive: no cancellation, on any processor
        if name.endswith(("down_proj.weight", "output.dense.weight")):
            weight.data.fill_(6e4)
    with pytest.raises(
        HomogenizationError, match=r"not finite .*float16 ends at 65,504\. Set dtype: bfloat16 or float32"
    ):
        check_against_eager(packed_model(made), longest=64, record_attention=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_that_no_dtype_holds_are_told_from_a_fault_of_the_architecture(dtype):
    made = network(CONFIGS["llama"], dtype)
    made.layers[1].mlp.down_proj.weight.data[0, 0] = float("nan")
    with pytest.raises(HomogenizationError, match=r"residual stream of layer 2 is not finite .*weights are damaged"):
        check_against_eager(packed_model(made), longest=64, record_attention=True)


def test_the_check_sees_a_window_that_is_ignored(monkeypatch):
    made = packed_model(network(CONFIGS["gemma2"]))
    monkeypatch.setattr(attention, "_window_bias", lambda *_: 0.0)
    check_against_eager(made, longest=WINDOW, record_attention=True)
    with pytest.raises(HomogenizationError, match="Gemma2Model"):
        check_against_eager(made, longest=2 * WINDOW, record_attention=True)


class Attention(torch.nn.Module):
    is_causal = True


def call(module, n=4, packed_pass=None, **arguments):
    projected = torch.randn(1, 2, n, 8)
    if packed_pass is None:
        packed_pass = PackedPass("TinyModel", {id(module): 0}, [0, 4], None)
    with attending_to(packed_pass):
        return packed_attention(module, projected, projected, projected, **({"attention_mask": None} | arguments))


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("s_aux", torch.zeros(2)),
        ("position_bias", torch.zeros(1, 2, 4, 4)),
        ("attention_mask", torch.zeros(1, 1, 4, 4)),
        ("dropout", 0.1),
        ("something_new", 1),
    ],
)
def test_unknown_arguments_are_refused_by_name(name, argument):
    with pytest.raises(HomogenizationError, match=f"TinyModel.*'{name}'"):
        call(Attention(), **{name: argument})


def test_neutral_arguments_pass():
    output, weights = call(Attention(), s_aux=None, use_cache=False, position_ids=torch.arange(4), softcap=None)
    assert output.shape == (1, 4, 2, 8)
    assert weights is None


def test_attention_to_something_else_is_refused():
    with pytest.raises(HomogenizationError, match=r"TinyModel.*beyond the text"):
        call(Attention(), n=3)


def test_each_block_attends_exactly_once():
    module, stranger = Attention(), Attention()
    packed_pass = PackedPass("TinyModel", {id(module): 0}, [0, 4], None)
    call(module, packed_pass=packed_pass)
    assert packed_pass.is_causal(1)
    with pytest.raises(HomogenizationError, match=r"TinyModel: blocks without attention .*: 2"):
        packed_pass.is_causal(2)
    with pytest.raises(HomogenizationError, match="TinyModel: block 1 attends more than once"):
        call(module, packed_pass=packed_pass)
    with pytest.raises(HomogenizationError, match="TinyModel: Attention attends outside"):
        call(stranger, packed_pass=packed_pass)


def test_a_mixture_of_causal_and_bidirectional_blocks_is_refused():
    packed_pass = PackedPass("TinyModel", {}, [0, 4], None, None, {0: Attention(), 1: Attention()}, {0: True, 1: False})
    with pytest.raises(HomogenizationError, match="TinyModel: some blocks"):
        packed_pass.is_causal(2)


def test_outside_of_a_pass_the_attention_is_out_of_order():
    projected = torch.zeros(1, 2, 4, 8)
    with pytest.raises(RuntimeError, match="attending_to"):
        packed_attention(Attention(), projected, projected, projected, None)


class TestWhatAttentionPassesThrough:
    def test_sees_all_weights_once_and_leaves_the_states_as_they_are(self, model):
        texts, seen = random_texts(LENGTHS), {}

        def look(attention):
            rows = seen.setdefault((attention.block, attention.review), [])
            rows.append((attention.first_query, attention.first_key, attention.weights.clone()))
            assert attention.n_tokens == len(texts[attention.review])
            return attention.weights

        states, result = run(model, texts, through=look)
        plain, recorded = run(model, texts)
        np.testing.assert_array_equal(states, plain)
        assert torch.equal(result.received, recorded.received)
        assert set(seen) == {(block, review) for block in range(model.n_blocks) for review in range(len(texts))}
        starts = np.cumsum([0, *map(len, texts)])
        for (block, review), rows in seen.items():
            received = torch.zeros(len(texts[review]))
            for _, first_key, weights in rows:
                torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))
                received[first_key : first_key + weights.shape[-1]] += weights.mean(dim=0).sum(dim=0)
            ours = result.received[block, starts[review] : starts[review + 1]]
            torch.testing.assert_close(ours, received, rtol=1e-5, atol=1e-6)

    def test_weighs_the_values_and_counts_as_received(self, model):
        """With nothing given to the values, what attention adds no longer depends on any other token."""
        texts = random_texts(LENGTHS)
        states, result = run(model, texts, through=lambda attention: torch.zeros_like(attention.weights))
        assert not result.received.any()
        start = 0
        for text in texts:
            alone, _ = run(model, [text[:1]], through=lambda attention: torch.zeros_like(attention.weights))
            np.testing.assert_allclose(states[:, start : start + 1], alone, rtol=1e-4, atol=1e-5)
            start += len(text)
