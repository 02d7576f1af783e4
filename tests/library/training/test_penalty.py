"""Penalties are metrics of the study without first tokens and padding, with gradients of finite differences."""

import copy

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

import tiny_models
from homogenization.models.blocks import blocks_of
from homogenization.training.penalty import METRICS, kept_states, mean_over_texts, padded


def plain(name: str, tokens: np.ndarray) -> float:
    """By its definition, of a token matrix whose first token is left out."""
    rows = tokens[1:]
    if name == "cosine":
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return (units @ units.T)[~np.eye(len(rows), dtype=bool)].mean()
    values = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[: min(len(rows) - 1, rows.shape[1])]
    shares = values / values.sum()
    return -np.exp(-(shares * np.log(shares)).sum()) / len(values)


@pytest.mark.parametrize("name", METRICS)
@given(st.integers(4, 40), st.integers(2, 24), st.integers(0, 10_000), st.sampled_from([0.0, 3.0, 100.0]))
def test_a_penalty_is_the_metric_of_padded_texts_whose_first_token_is_massive(name, n, width, seed, shift):
    rng = np.random.default_rng(seed)
    texts = [rng.normal(size=(n + more, width)) + shift for more in (0, 3)]
    states = torch.full((2, n + 7, width), 9.0, dtype=torch.float64)
    for row, tokens in enumerate(texts):
        tokens[0] *= 100
        states[row, : len(tokens)] = torch.from_numpy(tokens)
    found = mean_over_texts(name, states, [len(tokens) for tokens in texts])
    assert float(found) == pytest.approx(np.mean([plain(name, tokens) for tokens in texts]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_the_gradient_is_that_of_finite_differences(name, shape):
    """Of centred rows one singular value is zero, where a root has no derivative."""
    tokens = torch.from_numpy(np.random.default_rng(0).normal(size=shape) + 1).requires_grad_()
    assert torch.autograd.gradcheck(METRICS[name], (tokens,), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", METRICS)
def test_tokens_that_are_equal_zero_or_not_finite_raise_no_error(name):
    for tokens, finite in ((torch.ones(6, 4), True), (torch.zeros(6, 4), True), (torch.full((6, 4), torch.nan), False)):
        leaf = tokens.double().requires_grad_()
        value = METRICS[name](leaf)
        value.backward()
        assert torch.isfinite(torch.stack([value.detach(), *leaf.grad.flatten()])).all() == finite


@pytest.mark.parametrize("name", ["llama", "gpt2", "gemma2"])
def test_states_are_those_before_the_final_norm_and_padding_changes_no_loss(name):
    torch.manual_seed(0)
    config = copy.deepcopy(tiny_models.CONFIGS[name])
    network = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    states = kept_states(blocks_of(network))
    texts = [torch.tensor(ids) for ids in tiny_models.random_texts([12, 7])]
    with torch.no_grad():
        output = network(texts[0][None], labels=texts[0][None], output_hidden_states=True)
        for layer in range(3):
            torch.testing.assert_close(states[layer], output.hidden_states[layer])
        norm = next(module for module in (getattr(network.base_model, key, None) for key in ("norm", "ln_f")) if module)
        torch.testing.assert_close(norm(states[3]), output.hidden_states[3])
        own = states[3][0]
        other = network(texts[1][None], labels=texts[1][None]).loss
        both = network(**padded(texts)).loss
    torch.testing.assert_close(both, (11 * output.loss + 6 * other) / 17)
    torch.testing.assert_close(states[3][0], own)
